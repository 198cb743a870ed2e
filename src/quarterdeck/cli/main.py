"""`quarterdeck` and `qd`: find the command's module and run it.

Adding a command: write `cli/NAME.py` with `run(arguments: list[str]) -> int`, and name it in
`COMMANDS` with the line that `--help` shows.
"""

import sys

COMMANDS: dict[str, str] = {
    "up": "run everything on this machine: API server and operators",
    "run": "run the operators against a cluster",
    "server": "run the API server alone",
    "fleet": "run the fleet server alone",
    "pipelines": "check pipelines in files, import those of a server",
    "get": "print objects",
    "watch": "follow objects as they change",
    "events": "print what happened lately",
    "apply": "bring objects to what manifests say",
    "delete": "remove objects",
    "why": "tell why an object was reconciled",
    "doctor": "explain settings, and check what could be in the way",
    "crds": "print the definitions of our kinds",
    "manifests": "print everything needed to run in a cluster",
    "cel": "try an expression",
    "completion": "print a completion script for a shell",
    "version": "print versions",
}
"""Commands and their summaries; the module is `quarterdeck.cli.<name>`, dashes as underscores."""

BAD_USAGE = 2
INTERRUPTED = 130


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code."""
    sys.exit(run(sys.argv[1:] if arguments is None else arguments))


def run(arguments: list[str]) -> int:
    """Run a command; returns its exit code."""
    if not arguments or arguments[0] in ("-h", "--help", "help"):
        print(usage())
        return 0 if arguments else BAD_USAGE
    name, *rest = arguments
    if name in ("--version", "-V"):
        from quarterdeck import __version__

        print(f"quarterdeck {__version__}")
        return 0
    if name not in COMMANDS:
        print(f"quarterdeck: there is no command {name!r}; see --help", file=sys.stderr)
        return BAD_USAGE
    from importlib import import_module

    try:
        command = import_module(f"quarterdeck.cli.commands.{name.replace('-', '_')}")
        return int(command.run(rest) or 0)
    except KeyboardInterrupt:
        print(f"quarterdeck {name}: interrupted", file=sys.stderr)
        return INTERRUPTED


def usage() -> str:
    """What `--help` prints."""
    width = max(len(name) for name in COMMANDS)
    lines = [f"  {name.ljust(width)}  {summary}" for name, summary in COMMANDS.items()]
    return "\n".join(["usage: quarterdeck COMMAND …", "", "commands:", *lines])
