"""The recorder: retries what got no answer, drops what was refused, never blocks."""

import asyncio
import random
from typing import Any

import msgspec
import pytest

from quarterdeck.apis.core import ConfigMap
from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit.clock import VirtualClock, settle
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.runtime.recorder.recorder import EventApi, EventRecorder
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import CreateOptions, DeleteOptions, PatchOptions, UpdateOptions
from quarterdeck.wire.status import Forbidden, NotFound

SUBJECT = ConfigMap(metadata=ObjectMeta(name="a", namespace="ns", uid="u"))


class Sink:
    """Takes events; `troubles` are raised first, one per request."""

    def __init__(self, *troubles: Exception) -> None:
        self.troubles = list(troubles)
        self.requests: list[tuple[str, dict[str, Any]]] = []

    def _take(self, verb: str, body: bytes) -> bytes:
        if self.troubles:
            raise self.troubles.pop(0)
        self.requests.append((verb, msgspec.json.decode(body)))
        return body

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = CreateOptions(), /
    ) -> bytes:
        return self._take(f"create {path.group}", body)

    async def patch(
        self,
        path: ResourcePath,
        body: bytes,
        kind: PatchType,
        options: PatchOptions = PatchOptions(),
        /,
    ) -> bytes:
        return self._take(f"patch {path.group}", body)

    async def update(
        self, path: ResourcePath, body: bytes, options: UpdateOptions = UpdateOptions(), /
    ) -> bytes:
        raise AssertionError("events are never updated")

    async def delete(
        self, path: ResourcePath, options: DeleteOptions = DeleteOptions(), /
    ) -> bytes:
        raise AssertionError("events are never deleted")


def recorder(sink: Sink, clock: VirtualClock, event_api: EventApi = "v1") -> EventRecorder:
    return EventRecorder(
        sink,
        component="test",
        instance="test-0",
        clock=clock,
        rng=random.Random(0),
        log=get_logger("test"),
        event_api=event_api,
    )


def note(subject: EventRecorder, message: str = "m") -> None:
    subject.record(SUBJECT, type_="Normal", reason="Made", message=message, action="Make")


async def test_the_first_is_created_and_the_second_counted() -> None:
    clock, sink = VirtualClock(), Sink()
    subject = recorder(sink, clock)
    note(subject)
    await subject.flush()
    await clock.advance(5)
    note(subject)
    await subject.flush()
    (first, created), (second, patched) = sink.requests
    assert (first, second) == ("create ", "patch ")
    assert created["involvedObject"]["uid"] == "u"
    assert created["firstTimestamp"] == "2026-01-01T00:00:00Z"
    assert patched["count"] == 2
    assert patched["lastTimestamp"] == "2026-01-01T00:00:05Z"


async def test_an_event_that_has_expired_is_created_anew() -> None:
    clock, sink = VirtualClock(), Sink()
    subject = recorder(sink, clock)
    note(subject)
    await subject.flush()
    sink.troubles.append(NotFound("expired"))
    note(subject)
    await subject.flush()
    assert [verb for verb, _ in sink.requests] == ["create ", "create "]
    assert sink.requests[1][1]["count"] == 2


async def test_unreachable_servers_are_tried_again_and_refusals_are_not() -> None:
    clock = VirtualClock()
    sink = Sink(ConnectionFailed("no"), ConnectionFailed("no"), Forbidden("never"))
    subject = recorder(sink, clock)
    note(subject, "one")
    note(subject, "two")
    flushing = asyncio.ensure_future(subject.flush())
    await clock.advance(25)
    await flushing
    assert [body["message"] for _, body in sink.requests] == ["two"]  # "one" was refused


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        pytest.param("m" * 1025, "m" * 1024, id="ASCII"),
        pytest.param("é" * 600, "é" * 512, id="two bytes each"),
        pytest.param("m" + "é" * 600, "m" + "é" * 511, id="cut inside a character"),
        pytest.param("no file \udcff", "no file ?", id="half a surrogate pair"),
    ],
)
async def test_a_message_is_cut_at_the_limit_of_the_newer_api(message: str, expected: str) -> None:
    sink = Sink()
    subject = recorder(sink, VirtualClock(), "events.k8s.io/v1")
    note(subject, message)
    await subject.flush()
    assert [body["note"] for _, body in sink.requests] == [expected]


async def test_the_newer_api_writes_series() -> None:
    clock, sink = VirtualClock(), Sink()
    subject = recorder(sink, clock, "events.k8s.io/v1")
    for _ in range(4):
        note(subject)
    await subject.flush()
    assert [verb for verb, _ in sink.requests] == ["create events.k8s.io", "patch events.k8s.io"]
    assert sink.requests[1][1]["series"]["count"] == 2
    finishing = asyncio.ensure_future(subject.run_series())
    for _ in range(8):
        await clock.advance(60)
    finishing.cancel()
    await asyncio.gather(finishing, return_exceptions=True)
    assert sink.requests[-1][1]["series"]["count"] == 4


def test_a_full_queue_drops_and_counts() -> None:
    subject = recorder(Sink(), VirtualClock())
    for number in range(1100):
        note(subject, str(number))
    assert subject.dropped == 100


async def test_an_event_is_given_up_after_two_minutes_and_counted() -> None:
    clock, sink = VirtualClock(), Sink(*[ConnectionFailed("no")] * 12)
    subject = recorder(sink, clock)
    note(subject, "lost")
    note(subject, "kept")
    flushing = asyncio.ensure_future(subject.flush())
    await clock.advance(120)
    await flushing
    assert (subject.dropped, subject.sent) == (1, 1)
    assert [body["message"] for _, body in sink.requests] == ["kept"]


async def test_a_flood_about_one_object_is_not_sent() -> None:
    clock, sink = VirtualClock(), Sink()
    subject = recorder(sink, clock)
    for number in range(40):
        note(subject, f"m{number % 3}")
    await subject.flush()
    assert len(sink.requests) == 25, "the burst of one object"


def test_an_unknown_type_of_event_is_refused() -> None:
    subject = recorder(Sink(), VirtualClock())
    with pytest.raises(ValueError, match="must be Normal or Warning, got 'Error'"):
        subject.record(SUBJECT, type_="Error", reason="Made", message="m")


class SlowSink(Sink):
    """Takes an event only when it is allowed to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_asked = asyncio.Event()
        self.may_take = asyncio.Event()

    async def create(
        self, path: ResourcePath, body: bytes, options: CreateOptions = CreateOptions(), /
    ) -> bytes:
        self.is_asked.set()
        await self.may_take.wait()
        return self._take(f"create {path.group}", body)


async def test_a_flush_waits_for_the_event_that_is_being_written() -> None:
    sink = SlowSink()
    subject = recorder(sink, VirtualClock())
    async with Supervisor() as tasks:
        tasks.spawn(subject.run(), name="events")
        note(subject)
        await sink.is_asked.wait()
        note(subject)
        flushing = tasks.spawn(subject.flush(), name="flush")
        await settle()
        assert not flushing.done()
        assert sink.requests == []
        sink.may_take.set()
        await flushing
    verbs = [verb for verb, _ in sink.requests]
    assert verbs == ["create ", "patch "], "the second is counted on the first, never before it"
