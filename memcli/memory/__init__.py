"""What an agent remembers, as policy over plain records; it refuses to know LangChain, SQL and the terminal."""
