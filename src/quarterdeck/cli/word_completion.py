"""What a shell offers for the word at the cursor: commands, flags, values, kinds and names.

The completion scripts call `quarterdeck __complete WORD...` with the words up to the cursor, the
last one unfinished, and offer the lines it prints. What needs a cluster is left out silently if
none answers in time: a shell that waits is worse than one that offers nothing.
"""

import argparse
import os
from typing import TYPE_CHECKING, NamedTuple

from quarterdeck.cli.commands import COMMANDS, PACKAGE, Found, load
from quarterdeck.cli.parameters import Parser

if TYPE_CHECKING:
    from quarterdeck.client.client import Client

_LIMIT = "QUARTERDECK_COMPLETION_TIMEOUT"
_LIMIT_S = 2.0
_RESOURCES = {
    "POD|KIND/NAME": "pods",
    "FLEET": "fleets.hypervisor.hyperfleet.io",
    "MACHINE": "machineclaims.hypervisor.hyperfleet.io",
    "PIPELINE": "pipelines.fleetmanagement.grafana.com",
    "EXPERIMENT": "experiments.experiments.illm.io",
    "CLUSTER": "clusterconnections.clusterpulse.io",
}
"""Arguments that are names of objects of one kind."""
_FORMATS = ("table", "wide", "yaml", "json", "name", "jsonpath=", "custom-columns=")


class CommandLine(NamedTuple):
    """The words before the cursor, parsed."""

    positionals: tuple[str, ...]
    options: dict[str, str]
    """Values of flags, by their destination."""
    pending: argparse.Action | None
    """The flag whose value is at the cursor."""


def complete(words: list[str]) -> list[str]:
    """The possible words at the cursor; `words` follow the program's name."""
    *before, word = words or [""]
    here = Found("quarterdeck", "", None, COMMANDS, PACKAGE)
    while before and before[0] in here.group:
        here, before = load(here, before[0]), before[1:]
    offered = list(here.group) if not before else []
    if here.command is not None:
        offered += _complete_argument(here.command.build_parser(here.prog), before, word)
    return [each for each in offered if each.startswith(word)]


def _complete_argument(parser: Parser, before: list[str], word: str) -> list[str]:
    line = parse_command_line(parser, before)
    if line.pending is not None:
        return _complete_value(line.pending, line)
    if word.startswith("-"):
        return [
            flag
            for action in parser._actions
            for flag in action.option_strings
            if flag.startswith("--")
        ]
    declared = parser._get_positional_actions()
    index = len(line.positionals)
    action = declared[min(index, len(declared) - 1)] if declared else None
    if action is None or (index >= len(declared) and action.nargs not in ("*", "+")):
        return []
    return _complete_positional(action, line, word)


def parse_command_line(parser: Parser, words: list[str]) -> CommandLine:
    """Sort the words before the cursor into flags with values and other arguments."""
    positionals: list[str] = []
    options: dict[str, str] = {}
    pending: argparse.Action | None = None
    for word in words:
        if pending is not None:
            options[pending.dest] = word
            pending = None
            continue
        name, equals, value = word.partition("=")
        action = parser._option_string_actions.get(name)
        if action is None:
            positionals.append(word)
        elif equals:
            options[action.dest] = value
        elif action.nargs != 0:
            pending = action
    return CommandLine(tuple(positionals), options, pending)


def _complete_value(action: argparse.Action, line: CommandLine) -> list[str]:
    if action.dest == "namespace":
        return _list_names(line, "namespaces", everywhere=True)
    if action.dest == "context":
        return _list_contexts(line)
    if action.metavar == "FORMAT":
        return list(_FORMATS)
    if isinstance(action.metavar, str) and "|" in action.metavar:
        return action.metavar.split("|")
    return []


def _list_contexts(line: CommandLine) -> list[str]:
    """The contexts of the kubeconfig that the command would read; nothing if it cannot be read."""
    from quarterdeck.cli.connection import list_contexts
    from quarterdeck.client.errors import ClientError

    try:
        return list_contexts(line.options.get("kubeconfig", ""))
    except (ClientError, OSError):
        return []


def _complete_positional(action: argparse.Action, line: CommandLine, word: str) -> list[str]:
    kind = str(action.metavar)
    if kind == "SHELL":
        return ["bash", "zsh", "fish"]
    target, slash, _ = word.partition("/")
    if kind == "KIND" or (slash and kind == "POD|KIND/NAME"):
        if slash:
            return [f"{target}/{name}" for name in _list_names(line, target)]
        return _list_names(line, "")
    if kind == "NAME" and line.positionals and _follows_kind(line):
        return _list_names(line, line.positionals[0])
    return _list_names(line, _RESOURCES[kind]) if kind in _RESOURCES else []


def _follows_kind(line: CommandLine) -> bool:
    return "/" not in line.positionals[0]


def _list_names(line: CommandLine, resource: str, *, everywhere: bool = False) -> list[str]:
    """Names of objects, or of resources if none is given; nothing if no cluster answers."""
    import asyncio

    from quarterdeck.cli.loop import run_loop
    from quarterdeck.client.errors import ClientError
    from quarterdeck.wire.status import ApiError

    async def read() -> list[str]:
        async with asyncio.timeout(read_limit(os.environ.get(_LIMIT, ""))):
            return await _read_names(line, resource, everywhere=everywhere)

    try:
        found: list[str] = run_loop(read(), fast=False)
    except (ClientError, ApiError, OSError, TimeoutError):
        return []
    return found


def read_limit(text: str) -> float:
    """How many seconds to wait for a cluster; the default for a wrong value, to print no error."""
    try:
        limit = float(text)
    except ValueError:
        return _LIMIT_S
    return limit if limit > 0 else _LIMIT_S


async def _read_names(line: CommandLine, resource: str, *, everywhere: bool) -> list[str]:
    from quarterdeck.cli.connection import connect

    given = line.options
    async with connect(given.get("kubeconfig", ""), given.get("context", "")) as client:
        if not resource:
            return await _list_kinds(client)
        _, found = await client.discover_resource_by_name(resource)
        namespace = given.get("namespace") or client.namespace
        where = namespace if found.namespaced and not everywhere else ""
        return [each["metadata"]["name"] for each in await client.resource(found.gvr).list(where)]


async def _list_kinds(client: "Client") -> list[str]:
    return sorted({each.gvr.resource for each in await client.list_resources()})
