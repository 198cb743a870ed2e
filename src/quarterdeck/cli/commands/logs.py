"""`quarterdeck logs`: what containers have written."""

import sys
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from quarterdeck.cli.command import Command
from quarterdeck.cli.connection import connect, get_transport, with_progress
from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.cli.flags import Context, Json, Kubeconfig, LabelSelector, Namespace
from quarterdeck.cli.parameters import Argument, Option

if TYPE_CHECKING:
    from quarterdeck.client.client import Client
    from quarterdeck.wire.query import PodLogOptions

_NANO = 1_000_000_000


class LogFlags(NamedTuple):
    """Which lines to show, and how."""

    container: Annotated[
        str, Option("--container", "-c", metavar="NAME", help="Container (default: the first).")
    ] = ""
    all_containers: Annotated[
        bool, Option("--all-containers", help="Show the logs of all containers.")
    ] = False
    follow: Annotated[
        bool, Option("--follow", "-f", help="Show new lines until the container exits.")
    ] = False
    previous: Annotated[
        bool, Option("--previous", "-p", help="Show the log of the run before the last restart.")
    ] = False
    tail: Annotated[
        int, Option("--tail", metavar="N", minimum=-1, help="Show the last N lines; -1 for all.")
    ] = -1
    since: Annotated[
        str, Option("--since", metavar="TIME", help="Show lines newer than this, such as 5m.")
    ] = ""
    timestamps: Annotated[bool, Option("--timestamps", help="Show when each line was written.")] = (
        False
    )
    prefix: Annotated[bool, Option("--prefix", help="Show pod and container before each line.")] = (
        False
    )
    json: Json = False


_DEFAULTS = LogFlags()


class _Source(NamedTuple):
    namespace: str
    pod: str
    container: str


async def logs(
    target: Annotated[
        str, Argument(metavar="POD|KIND/NAME", help="A pod, or an object that has pods.")
    ] = "",
    labels: LabelSelector = "",
    flags: LogFlags = _DEFAULTS,
    namespace: Namespace = "",
    kubeconfig: Kubeconfig = "",
    context: Context = "",
) -> None:
    """Show the logs of a pod, of the pods of an object, or of the pods with labels."""
    import asyncio

    if bool(target) == bool(labels):
        raise CommandError("give a pod or --selector, such as logs web or logs -l app=web", REFUSED)
    options = _build_options(flags)
    async with connect(kubeconfig, context) as client:
        where = namespace or client.namespace
        pods = await with_progress(_find(client, target, labels, where), "reading pods")
        sources = [
            _Source(where, pod["metadata"]["name"], container)
            for pod in pods
            for container in _choose_containers(pod, flags)
        ]
        if not flags.follow:
            for source in sources:
                await _print_log(client, source, options, flags)
            return
        async with asyncio.TaskGroup() as group:
            for source in sources:
                group.create_task(_print_log(client, source, options, flags), name=str(source))


COMMAND = Command(logs)


async def _find(client: "Client", target: str, labels: str, namespace: str) -> list[dict[str, Any]]:
    from quarterdeck.cli.pod_selection import find_pods, list_pods

    if labels:
        found = await list_pods(client, namespace, labels)
        if not found:
            raise CommandError(f"no pods with {labels} found in namespace {namespace}")
        return found
    kind, slash, name = target.partition("/")
    if slash and not (kind and name):
        raise CommandError(f"invalid target {target!r}: give POD or KIND/NAME", REFUSED)
    return await find_pods(client, *((kind, name) if slash else ("pods", kind)), namespace)


def _choose_containers(pod: dict[str, Any], flags: LogFlags) -> list[str]:
    from quarterdeck.cli.pod_selection import list_containers

    if flags.container:
        return [flags.container]
    names = list_containers(pod)
    if not flags.all_containers and len(names) > 1:
        print(f"Defaulted container {names[0]!r} out of: {', '.join(names)}", file=sys.stderr)
        return names[:1]
    return names


def _build_options(flags: LogFlags) -> "PodLogOptions":
    import math

    from quarterdeck.kit import duration
    from quarterdeck.wire.query import PodLogOptions

    since: int | None = None
    if flags.since:
        try:
            since = max(1, math.ceil(duration.parse(flags.since) / _NANO))
        except ValueError as error:
            raise CommandError(f"invalid --since {flags.since!r}: {error}", REFUSED) from error
    return PodLogOptions(
        follow=flags.follow,
        previous=flags.previous,
        since_seconds=since,
        timestamps=flags.timestamps,
        tail_lines=flags.tail if flags.tail >= 0 else None,
    )


async def _print_log(
    client: "Client", source: _Source, options: "PodLogOptions", flags: LogFlags
) -> None:
    import msgspec

    from quarterdeck.cli.output import print_line
    from quarterdeck.client import requests
    from quarterdeck.wire.path import ResourcePath

    path = ResourcePath("", "v1", "pods", source.namespace, source.pod, "log")
    asked = msgspec.structs.replace(options, container=source.container)
    is_empty = True
    async with get_transport(client).stream(requests.read_log(path, asked)) as lines:
        async for line in lines:
            is_empty = False
            print_line(_format_line(line.decode(errors="replace"), source, flags))
    if is_empty:
        print(f"no log lines in {source.pod}/{source.container}", file=sys.stderr)


def _format_line(line: str, source: _Source, flags: LogFlags) -> str:
    if flags.json:
        from quarterdeck.kit import json

        return json.encode({**source._asdict(), "line": line}).decode()
    return f"[pod/{source.pod}/{source.container}] {line}" if flags.prefix else line
