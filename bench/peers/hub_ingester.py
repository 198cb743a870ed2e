"""The ingester of one hub, on a Redis and a VictoriaMetrics of its own, over TLS.

`python -m bench.peers.hub_ingester AGENTS FOLDER REDIS_PORT VICTORIA_METRICS_PORT` writes
`authority.crt` and `tokens.json` to FOLDER, prints its port, and serves until its input ends.
"""

import asyncio
import contextlib
import sys
from pathlib import Path

import msgspec

from quarterdeck.apis.clusterpulse.metric_source import MetricSourceSpec
from quarterdeck.engine import compile_source
from quarterdeck.hubstate import source_writes
from quarterdeck.hubstate.push import tokens
from quarterdeck.hubstate.redis.address import RedisAddress
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.hubstate.source_writes import SourceHead
from quarterdeck.hubstate.victoriametrics.history import VictoriaMetrics
from quarterdeck.kit import json, rfc3339
from quarterdeck.kit.clock import Clock, SystemClock
from quarterdeck.kit.gc_tuning import tune_gc
from quarterdeck.kit.malloc import limit_arenas
from quarterdeck.runtime.endpoints.certificate import generate_self_signed
from quarterdeck.services.ingester.options import IngesterOptions, TlsFiles
from quarterdeck.services.ingester.server import Ingester

SOURCE = ("default", "pods")
_PARALLEL = 32


def name_cluster(number: int) -> str:
    """The cluster of an agent."""
    return f"cluster-{number:04}"


async def _issue_tokens(state: RedisState, count: int, *, clock: Clock) -> list[str]:
    gate = asyncio.Semaphore(_PARALLEL)

    async def issue(number: int) -> str:
        async with gate:
            token = await tokens.issue_token(state, name_cluster(number), at=clock.now())
        return token.reveal()

    return list(await asyncio.gather(*(issue(number) for number in range(count))))


async def _define_source(state: RedisState, *, clock: Clock) -> None:
    """The MetricSource whose rows the agents send."""
    typed = msgspec.json.decode(_SPEC, type=MetricSourceSpec)
    compiled, at = compile_source(typed), rfc3339.format_time(clock.now())
    namespace, name = SOURCE
    head = SourceHead(
        compiled_at=at, hash=compiled.hash, kind="Pod", api_version="v1", resource_type_name="pods"
    )
    definition = compiled.definition(
        name=name, namespace=namespace, resource="pods", compiled_at=at
    )
    writes = source_writes.plan_definition(
        namespace, name, definition=definition, spec=typed, head=head, before=""
    )
    await state.commit(list(writes))


_SPEC = b"""{
  "source": {"apiVersion": "v1", "kind": "Pod"},
  "fields": [{"name": "phase", "path": ".status.phase"}],
  "aggregations": [{"name": "pods", "function": "count"}],
  "rbac": {"resourceTypeName": "pods"}
}"""


async def _run(count: int, folder: Path, redis_port: int, history_port: int) -> None:
    clock = SystemClock()
    certificate, key = generate_self_signed(clock.now(), ["localhost"])
    files = TlsFiles(certificate=folder / "authority.crt", key=folder / "tls.key")
    files.certificate.write_bytes(certificate)
    files.key.write_bytes(key)
    async with contextlib.AsyncExitStack() as stack:
        state = RedisState(RedisAddress(hosts=(("127.0.0.1", redis_port),)))
        stack.push_async_callback(state.aclose)
        history = VictoriaMetrics(f"http://127.0.0.1:{history_port}", clock=clock)
        stack.push_async_callback(history.aclose)
        await _define_source(state, clock=clock)
        found = await _issue_tokens(state, count, clock=clock)
        (folder / "tokens.json").write_bytes(json.encode(found))
        options = IngesterOptions(port=0, tls=files)
        ingester = Ingester(state, history, options=options, clock=clock)
        await stack.enter_async_context(ingester.running())
        tune_gc()
        print(ingester.port, flush=True)
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def main() -> None:
    limit_arenas(1)  # as `quarterdeck ingester` does
    count, folder = int(sys.argv[1]), Path(sys.argv[2])
    asyncio.run(_run(count, folder, int(sys.argv[3]), int(sys.argv[4])))


if __name__ == "__main__":
    main()
