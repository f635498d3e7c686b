"""Other tools' transcripts: read into records, written from records; one module a format.

It refuses to know LangChain and the terminal.
"""
