"""The terminal: one module a command, one place where an error becomes output, one object for the outside world.

    main       the table of commands, the entry point and the one error handler
    parsing    how a command is loaded on demand and its words become values
    options    the flags several commands share
    terminal   the outside world: streams, colour, width, pager
    session    settings → store → conversation, for one run of one command
    output     JSON documents and JSON lines
    cleaning   untrusted text made safe to show
    render/    records → Rich renderables

It refuses to hold SQL, policy and model code: a command reads records through the floors below and hands them to a
renderer.
"""
