"""The load generator for operators: it changes objects, and watches them get their status.

`python -m bench.peers.operator_load KUBECONFIG`, told line by line like `api_load`. Latencies are
between two events of one watch, so they are the server's.
"""

import asyncio
import contextlib
import json
import sys
import time
from pathlib import Path
from typing import Any

from bench.openloop import drive, percentile
from bench.peers import prose
from bench.peers.api_load import MERGE, Load, closed_loop, encode, path_of, run, serve
from bench.peers.kind import BONUS, GROUP, PLURAL, VERSION
from bench.peers.observer import Observer
from bench.peers.review_load import ReviewLoad
from bench.peers.widgets import widget

_CLIENTS = 32
_NAME = "@name@"
_VERSION = b'"resourceVersion":"'


class OperatorLoad(Load):
    """Requests to one server, and an eye on its objects."""

    _observer: Observer | None = None
    _observing: asyncio.Task[None] | None = None
    _reviews: ReviewLoad | None = None

    @property
    def observer(self) -> Observer:
        """What sees the objects; there is one after `observe`."""
        assert self._observer is not None
        return self._observer

    async def aclose(self) -> None:
        """Stop observing and close the connections."""
        if self._observing is not None:
            self._observing.cancel()
        if self._reviews is not None:
            await self._reviews.aclose()
        await super().aclose()

    async def observe(self, namespace: str = "", name: str = "") -> dict[str, Any]:
        """Follow objects from now on: those of a namespace or of all, or one."""
        if self._observing is not None:
            self._observing.cancel()
        path = path_of(namespace) if namespace else f"/apis/{GROUP}/{VERSION}/{PLURAL}"
        select = f"fieldSelector=metadata.name%3D{name}" if name else ""
        observer = self._observer = Observer(await self.send("GET", f"{path}?{select}"))
        self._observing = asyncio.create_task(self._follow(observer, f"{path}?{select}"))
        return {}

    async def _follow(self, observer: Observer, url: str) -> None:
        """Watch, again and again: kube-apiserver ends watches that fall behind for a moment."""
        while True:
            await self.lines(f"{url}&watch=1&resourceVersion={observer.version}", observer.line)

    async def settled(self, limit_s: float) -> dict[str, Any]:
        """Wait until every status agrees with its spec; says how many do not within the limit."""
        start = time.perf_counter()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                await self.observer.settled.wait()
        if self._observing is not None and self._observing.done():
            self._observing.result()  # raises what ended it
        return {"seconds": time.perf_counter() - start, "missing": self.observer.waiting}

    async def writes(self) -> dict[str, Any]:
        """How many changes were seen since `observe`."""
        return {"writes": self.observer.writes}

    async def delays(self) -> dict[str, Any]:
        """How long the changes of the last `touch` took to get into the status."""
        delays = self.observer.delays
        found = {f"p{share}_ms": percentile(delays, share / 100) * 1e3 for share in (50, 99)}
        return {**found, "longest_s": max(delays)}

    async def touch(self, rate_hz: float, count: int, of: int) -> dict[str, Any]:
        """Change objects in an open loop."""
        self.observer.delays.clear()
        first = time.monotonic_ns() % 1_000_000_000 + 1_000_000

        async def write(number: int) -> None:
            path = f"{path_of('default')}/w{number % of}"
            body = encode({"spec": {"size": first + number}})
            self._wrote(await self.send("PATCH", path, body, media=MERGE))

        _, late = await drive(write, rate_hz=rate_hz, count=count)
        return {"late_ms": late * 1e3}

    async def add(self, name: str) -> dict[str, Any]:
        """Create one object that is waited for."""
        self._wrote(await self.send("POST", path_of("default"), encode(widget(name, 1))))
        return {}

    def _wrote(self, answer: bytes) -> None:
        start = answer.index(_VERSION) + len(_VERSION)
        self.observer.wrote(answer[start : answer.index(b'"', start)].decode())

    async def model(self, text: int) -> dict[str, Any]:
        """One object of a size, for operators to handle and `replicate` to copy."""
        await self.send("POST", path_of("default"), encode(widget("model", 1, text=text)))
        return {}

    async def replicate(self, count: int, style: str = "words") -> dict[str, Any]:
        """Objects like `model`, with the status and the annotations operators gave it.

        Each has a text of its own, in kopf's annotation too, which repeats the spec.
        """
        path, write = path_of("default"), {"words": prose.words, "noise": prose.noise}[style]
        model = json.loads(await self.send("GET", f"{path}/model"))
        text = model["spec"]["text"]
        kept = {key: model["metadata"].get(key, {}) for key in ("labels", "annotations")}
        template = json.dumps({**model, "metadata": {"name": _NAME, **kept}})
        status = encode({"status": model["status"]})

        async def one(number: int) -> None:
            name = f"w{number}"
            own = write(len(text), seed=number)
            body = template.replace(text, own).replace(_NAME, name).encode()
            await self.send("POST", path, body)
            await self.send("PATCH", f"{path}/{name}/status", status, media=MERGE)

        return await closed_loop(one, count, _CLIENTS)

    async def delete(self, name: str) -> dict[str, Any]:
        """Delete one object."""
        await self.send("DELETE", f"{path_of('default')}/{name}")
        return {}

    async def beat(self, count: int, of: int) -> dict[str, Any]:
        """Changes of a status field that is nobody's business."""
        stamp = time.monotonic_ns() % 1_000_000_000

        async def one(number: int) -> None:
            path = f"{path_of('default')}/w{number % of}/status"
            await self.send(
                "PATCH", path, encode({"status": {"beat": stamp + number}}), media=MERGE
            )

        return await closed_loop(one, count, _CLIENTS)

    async def share(self, size: int) -> dict[str, Any]:
        """Change the ConfigMap all objects share."""
        path = "/api/v1/namespaces/default/configmaps"
        manifest = {"metadata": {"name": BONUS}, "data": {"size": str(size)}}
        self.observer.expect(size)
        if size:
            await self.send("PATCH", f"{path}/{BONUS}", encode(manifest), media=MERGE)
        else:
            await self.send("POST", path, encode(manifest))
        return {}

    async def fault(self, name: str) -> dict[str, Any]:
        """Have a `faulty_server` begin a fault, or end it with `none`."""
        await self.send("PUT", f"/bench/faults/{name}", b"{}")
        return {}

    @property
    def reviews(self) -> ReviewLoad:
        """What asks webhooks; there is one after `webhooks`."""
        assert self._reviews is not None
        return self._reviews

    async def webhooks(self, port: int, certificate: str) -> dict[str, Any]:
        """Where the webhooks of the operator are, and whom to trust."""
        self._reviews = ReviewLoad(port, certificate)
        return {}

    async def review(self, path: str, count: int) -> dict[str, Any]:
        """Ask a webhook as fast as it answers."""
        await self.reviews.wait_ready(path)
        return await self.reviews.at_most(path, count)

    async def review_at(self, path: str, rate_hz: float, count: int) -> dict[str, Any]:
        """Ask a webhook in an open loop."""
        return await self.reviews.at_rate(path, rate_hz, count)

    async def churn(self, rate_hz: float, seconds: float, of: int) -> dict[str, Any]:
        """So many objects come, then change, then go, again and again."""
        path = path_of("default")

        async def step(number: int) -> None:
            turn, slot = divmod(number, of)
            name = f"churn{slot}"
            match turn % 3:
                case 0:
                    await self.send("POST", path, encode(widget(name, number + 1)))
                case 1:
                    body = encode({"spec": {"size": number + 1}})
                    await self.send("PATCH", f"{path}/{name}", body, media=MERGE)
                case _:
                    await self.send("DELETE", f"{path}/{name}")

        turns = max(1, round(rate_hz * seconds / (3 * of)))
        await drive(step, rate_hz=rate_hz, count=turns * 3 * of)
        return {}


async def _main(kubeconfig: Path) -> None:
    await serve(OperatorLoad(kubeconfig))


if __name__ == "__main__":
    run(_main(Path(sys.argv[1])))
