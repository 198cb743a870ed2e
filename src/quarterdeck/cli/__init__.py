"""The command line: one module a command, loaded only when it is called.

A command module has `run(arguments: list[str]) -> int`, the process's exit code. `main` knows the
names and nothing else, so that `quarterdeck server` never pays for what `quarterdeck get` needs.
"""
