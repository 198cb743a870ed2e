"""The command line: one module per command, loaded only when it is called.

`main` finds the module of a command; `command` and `parameters` turn a typed function into
flags and help; `exit_codes` turns its failure into one line and an exit code. The commands are in
`commands`, groups of commands (`quarterdeck pipelines lint`) are packages there.
"""
