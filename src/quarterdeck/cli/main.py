"""`quarterdeck` and `qd`: find the command's module, parse its arguments, call it.

Adding a command: write `cli/commands/NAME.py` with a `COMMAND` (see `cli/command.py`) and add its
name and summary to `COMMANDS`. Adding a group: make `cli/commands/NOUN/__init__.py` with a
`COMMANDS` table of its own, one module per command beside it, and add the noun here. Dashes in
names become underscores in module names, and Python keywords get one at the end (`import_`).
A group may also have a `COMMAND`, which is called when no command of the group is named.
Modules are loaded when they are called: `quarterdeck --help` loads none.
"""

import sys
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from quarterdeck.cli.command import Command

COMMANDS: dict[str, str] = {
    "up": "Run everything on this machine: API server and operators",
    "run": "Run the operators against a cluster",
    "server": "Run the API server alone",
    "fleet": "Run the fleet server alone",
    "bootstrap": "Run the bootstrap service of machines alone",
    "machine-agent": "Attest a machine to the bootstrap service, from inside it",
    "hub": "Run the hub API alone",
    "ingester": "Run the ingester of collectors alone, with the Redis of the operators",
    "collector": "Run the collector: read its own cluster, push to a hub",
    "clusters": "Connect clusters to the hub, and show all of them",
    "pipelines": "Check pipelines in files, import pipelines of a fleet server",
    "metrics": "Preview MetricSources of files",
    "access": "Show who may see what, and why",
    "machines": "Follow and undo roll-outs of fleets, log in to machines",
    "hypervisor": "Control simulated hypervisors: failures, timing, outside changes",
    "experiments": "Plan, run, follow, repeat and compare experiments",
    "get": "Show objects",
    "describe": "Show everything about objects, with their events",
    "watch": "Show objects and their changes",
    "logs": "Show the logs of containers",
    "events": "Show events",
    "apply": "Create or update objects from manifests",
    "delete": "Delete objects",
    "why": "Show why an object was reconciled, and the result",
    "doctor": "Show settings and their sources, and check this machine",
    "new": "Create a project for an operator of your own",
    "dev": "Run an operator of your own while you write it",
    "crds": "Print the CustomResourceDefinitions of operators or of your own kinds",
    "rbac": "Print the ClusterRole that an operator of your own needs",
    "manifests": "Print the manifests for running in a cluster",
    "cel": "Evaluate a CEL expression",
    "envtest": "Write the programs that Go's envtest starts",
    "completion": "Print a completion script for a shell",
    "version": "Show versions of this program and of the server",
}
"""Commands and groups, with the line that `--help` shows."""

PACKAGE = "quarterdeck.cli.commands"
_INTERRUPTED = 130
"""As shells count it: 128 and the number of the signal. The ladder of codes loads later."""
_HELP = ("-h", "--help", "help")


class Found(NamedTuple):
    """A place in the tree of commands: a command, a group, or both."""

    prog: str
    summary: str
    command: "Command | None"
    group: Mapping[str, str]
    """Commands of a group, with their summaries."""
    package: str


def main(arguments: list[str] | None = None) -> None:
    """Run a command and exit with its code; Ctrl-C while it loads ends it without a trace."""
    try:
        sys.exit(run(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)


def run(arguments: list[str]) -> int:
    """Run a command; returns its exit code."""
    if arguments and arguments[0] in ("--version", "-V"):
        from quarterdeck import __version__

        print(f"quarterdeck {__version__}")
        return 0
    if arguments and arguments[0] == "__complete":
        from quarterdeck.cli.word_completion import complete

        print("\n".join(complete(arguments[1:])))
        return 0
    here, rest = Found("quarterdeck", "", None, COMMANDS, PACKAGE), arguments
    while rest and rest[0] in here.group:
        here, rest = load(here, rest[0]), rest[1:]
    if here.command is not None and not (here.group and rest and _is_word(rest[0])):
        return execute(here.command, here.prog, rest)
    if not rest or rest[0] in _HELP:
        print(usage(here))
        return 0 if rest else 2
    from quarterdeck.kit.similar import suggest

    hint = suggest(rest[0], here.group) or f"; see {here.prog} --help"
    print(f"{here.prog}: unknown command {rest[0]!r}{hint}", file=sys.stderr)
    return 2


def _is_word(argument: str) -> bool:
    return not argument.startswith("-")


def load(parent: Found, name: str) -> Found:
    """Load a command or group by its name in the parent's table."""
    import keyword
    from importlib import import_module

    module_name = name.replace("-", "_")
    if keyword.iskeyword(module_name):
        module_name += "_"
    package = f"{parent.package}.{module_name}"
    module = import_module(package)
    return Found(
        f"{parent.prog} {name}",
        parent.group[name],
        getattr(module, "COMMAND", None),
        getattr(module, "COMMANDS", {}),
        package,
    )


def walk(parent: Found | None = None) -> Iterator[Found]:
    """Every command and group, groups before their commands."""
    parent = parent or Found("quarterdeck", "", None, COMMANDS, PACKAGE)
    for name in parent.group:
        found = load(parent, name)
        yield found
        yield from walk(found) if found.group else ()


def execute(command: "Command", prog: str, arguments: list[str]) -> int:
    """Parse the arguments and call the command; failures become one line and an exit code."""
    from quarterdeck.cli.command import StartTime
    from quarterdeck.cli.exit_codes import print_error, translate

    started = monotonic()  # kit.clock would load asyncio, which --help does not need
    try:
        options = command.build_parser(prog).parse_intermixed_args(arguments)
        return command.call(options, StartTime(started))
    except SystemExit as error:  # argparse printed the help
        return int(error.code or 0)
    except BaseException as error:
        if "--debug" in arguments and isinstance(error, Exception):
            raise
        code, message = translate(error)
        if message:
            print_error(prog, message)
        else:
            sys.stderr.close()  # the reader closed the pipe
        return code


def usage(here: Found) -> str:
    """What `--help` of a group prints."""
    width = max(len(name) for name in here.group)
    lines = [f"  {name.ljust(width)}  {summary}" for name, summary in here.group.items()]
    head = [f"usage: {here.prog} COMMAND ..."]
    if here.summary:
        head += ["", f"{here.summary}."]
    tail = f"Use `{here.prog} COMMAND --help` for the flags of a command."
    return "\n".join([*head, "", "commands:", *lines, "", tail])
