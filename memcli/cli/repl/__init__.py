"""The REPL of `memcli chat`.

    start      puts it together: prompt, background load, loop
    loop       read → run a slash command or a turn → again; what is left on the screen
    prompt     the input line: history, completion, editor;  keys  what each key does
    toolbar    the line below it
    loading    the model stack, loaded while the user types
    turns      one turn, shown
    commands   the slash commands' registry;  showing, changing  the commands themselves

It refuses to import LangChain before the prompt has been drawn.
"""
