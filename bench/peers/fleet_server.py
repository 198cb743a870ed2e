"""A fleet server with many collectors and pipelines already in its store.

`python -m bench.peers.fleet_server COLLECTORS PIPELINES` prints its port, then answers each line on
its standard input with the processor seconds it has used; it ends with its input.
"""

import asyncio
import os
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import msgspec

from quarterdeck.kit import http
from quarterdeck.kit.redaction import Secret
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.candidates import MEMBER
from quarterdeck.services.fleet.persistence import Persistence, settle
from quarterdeck.services.fleet.records import Collector, Pipeline
from quarterdeck.services.fleet.service import MAX_TARGET, FleetServer
from quarterdeck.storage import Store, open_sqlite

TOKEN = "0123456789abcdef"
TEAM = 5
"""Pipelines of one team: a collector gets about as many, however many there are."""

_STAMP = "2026-01-01T00:00:00Z"


def attributes(number: int, pipelines: int) -> dict[str, str]:
    """What a collector says of itself."""
    return {
        "collector.os": "linux",
        "collector.version": "v1.11.3",
        "env": ("prod", "stage", "dev")[number % 3],
        "host": f"host-{number}",
        "region": f"region-{number % 7}",
        "team": f"team-{number % max(1, pipelines // TEAM)}",
    }


def collectors(count: int, pipelines: int) -> Iterator[Collector]:
    """A fleet that has registered."""
    for number in range(count):
        yield Collector(
            id=f"edge-{number}",
            name=f"edge {number}",
            local_attributes=attributes(number, pipelines),
            created_at=_STAMP,
            updated_at=_STAMP,
            last_seen=_STAMP,
        )


def pipeline(number: int, count: int, *, revision: int = 1) -> Pipeline:
    """One of the pipelines of a team: most ask for exact values, some for patterns."""
    team = number % max(1, count // TEAM)
    matchers = (
        (f"team=team-{team}",),
        (f"team=team-{team}", "env=prod"),
        (f'team=~"team-{team}|nobody"',),
        (f"team=team-{team}", "env!=dev"),
        (f'host=~"host-{team}[05]"', 'region=~"region-.*"'),
    )[number * TEAM // count % TEAM]
    return Pipeline(
        id=str(number + 1),
        name=f"pipeline-{number}",
        contents=contents(number, revision),
        matchers=matchers,
        created_at=_STAMP,
        updated_at=_STAMP,
    )


def with_candidate(pipeline: Pipeline) -> Pipeline:
    """The same in the middle of a rollout: a tenth of its collectors receive another text."""
    candidate = {
        "contents": f"{pipeline.contents}// candidate\n",
        "matchers": list(pipeline.matchers),
        "weight": 10,
    }
    return msgspec.structs.replace(pipeline, metadata={MEMBER: candidate})


def pipelines(count: int) -> Iterator[Pipeline]:
    """All of them; every tenth is being rolled out."""
    for number in range(count):
        found = pipeline(number, count)
        yield with_candidate(found) if number % 10 == 0 else found


def contents(number: int, revision: int) -> str:
    """A configuration of some lines; one pipeline in ten reads the collector's attributes."""
    host = 'argument.attributes.value["host"]' if number % 10 == 0 else '"fixed"'
    return (
        f'prometheus.scrape "p{number}" {{\n'
        f'  targets = [{{"__address__" = "127.0.0.1:{number}"}}]\n'
        f'  job_name = {host}\n  scrape_interval = "{10 + revision}s"\n'
        f"  forward_to = [prometheus.remote_write.p{number}.receiver]\n}}\n"
        f'prometheus.remote_write "p{number}" {{\n  endpoint {{\n'
        f'    url = "https://metrics.example/api/v1/push"\n  }}\n}}\n'
    )


async def serve(store: Store, fleet: int, count: int) -> None:
    disk = Persistence(store)
    await settle([disk.put_collector(each) for each in collectors(fleet, count)])
    await settle([disk.put_pipeline(each) for each in pipelines(count)])
    server = FleetServer(store, Tokens.single(Secret(TOKEN)))
    limits = http.Limits(target_bytes=MAX_TARGET)
    async with http.Server(server.handle, limits=limits) as web, asyncio.TaskGroup() as tasks:
        listener = await web.listen("127.0.0.1", 0)
        tasks.create_task(server.run())
        print(listener.port, flush=True)
        await asyncio.Event().wait()


def main() -> None:
    fleet, count = map(int, sys.argv[1:])
    folder = tempfile.TemporaryDirectory()
    threading.Thread(target=_answer, args=(folder,), daemon=True).start()
    factory = None
    try:
        import uvloop

        factory = uvloop.new_event_loop
    except ImportError:
        pass
    store = open_sqlite(Path(folder.name) / "fleet.db")
    with asyncio.Runner(loop_factory=factory) as runner:
        runner.run(serve(store, fleet, count))


def _answer(folder: tempfile.TemporaryDirectory[str]) -> None:
    for _ in sys.stdin:
        print(time.process_time(), flush=True)
    folder.cleanup()
    os._exit(0)


if __name__ == "__main__":
    main()
