"""The commands, one module each; a package is a group of them under one noun.

Adding a command: write `cli/commands/NAME.py` with a `COMMAND` (see `cli/command.py`) and add its
name and summary to `COMMANDS`. Adding a group: make `cli/commands/NOUN/__init__.py` with a
`COMMANDS` table of its own, one module per command beside it, and add the noun here. Dashes in
names become underscores in module names, and Python keywords get one at the end (`import_`).
A group may also have a `COMMAND`, which is called when no command of the group is named.
Modules are loaded when they are called: `quarterdeck --help` loads none.
"""

from collections.abc import Iterator, Mapping
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


class Found(NamedTuple):
    """A place in the tree of commands: a command, a group, or both."""

    prog: str
    summary: str
    command: "Command | None"
    group: Mapping[str, str]
    """Commands of a group, with their summaries."""
    package: str


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
