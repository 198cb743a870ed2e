"""The collector's loops: collect into the buffer, and send from the buffer while connected."""

import asyncio
import random
from contextlib import suppress

import quarterdeck
from quarterdeck.agents.collector.buffer import DiskBuffer
from quarterdeck.agents.collector.chunks import encode_chunks
from quarterdeck.agents.collector.reader import CycleReader
from quarterdeck.agents.collector.settings import CollectorSettings
from quarterdeck.agents.collector.uplink import Dial, Disconnected, Uplink, dial
from quarterdeck.client.client import Client
from quarterdeck.inventory.push.messages import ConfigUpdate, HealthReport, RegisterRequest
from quarterdeck.kit.backoff import Backoff
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.deadline import run_within
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.runtime.observability.logging import get_logger

HEARTBEAT_S = 30.0
ACK_S = 60.0
FIRST_RETRY_S, LAST_RETRY_S, JITTER = 1.0, 300.0, 0.2
_log = get_logger("agents.collector")


class CollectorAgent:
    """One collector."""

    def __init__(
        self,
        client: Client,
        settings: CollectorSettings,
        buffer: DiskBuffer,
        *,
        clock: Clock,
        random: random.Random,
        dial: Dial = dial,
    ) -> None:
        self._settings = settings
        self._dial = dial
        self._buffer = buffer
        self._clock = clock
        self._reader = CycleReader(client, settings, clock=clock)
        self._random = random
        self._backoff = self._make_backoff()
        self._began = clock.monotonic()
        self._wake = asyncio.Event()
        self._filled = asyncio.Event()
        self.sent = 0
        self.is_connected = False

    async def run(self) -> None:
        """Collect and send until cancelled."""
        async with Supervisor("collector") as tasks:
            tasks.spawn(self._collect(), name="collect")
            tasks.spawn(self._stay_connected(), name="uplink")
            await tasks.wait_failed()

    def statistics(self) -> dict[str, int]:
        """Numbers of buffered, dropped and sent batches, and of MetricSources."""
        return {
            "buffered": len(self._buffer),
            "dropped": self._buffer.dropped,
            "sent": self.sent,
            "sources": len(self._reader.schedule),
        }

    # --- collecting: whether connected or not

    async def _collect(self) -> None:
        while True:
            batch = await self._reader.read()
            if batch is not None:
                chunks, dropped = encode_chunks(batch), self._buffer.dropped
                try:
                    await asyncio.to_thread(self._buffer.push, chunks)
                except OSError as error:
                    _log.error("cannot write to the buffer; the cycle is lost", reason=str(error))
                if self._buffer.dropped > dropped:
                    _log.warning(
                        "the buffer is full: the oldest cycle is lost; see BUFFER_SIZE",
                        buffered=len(self._buffer),
                        dropped=self._buffer.dropped,
                    )
                self._filled.set()
            await self._wait_due()

    async def _wait_due(self) -> None:
        """Wait until something is due, or the configuration changes."""
        self._wake.clear()
        pause_s = max(0.1, self._reader.next_due() - self._clock.monotonic())
        with suppress(TimeoutError):
            await run_within(self._clock, pause_s, self._wait_woken())

    async def _wait_woken(self) -> None:
        await self._wake.wait()

    def _take_config(self, update: ConfigUpdate) -> None:
        problems = self._reader.schedule.replace(
            update.metric_sources_json, self._clock.monotonic()
        )
        for each in problems:
            _log.warning("a MetricSource cannot be used", reason=each)
        _log.info("configuration received", sources=len(self._reader.schedule))
        self._wake.set()

    # --- sending: one batch at a time, in order

    async def _stay_connected(self) -> None:
        while True:
            try:
                await self._connect()
            except Disconnected as error:
                _log.warning("not connected to the hub", reason=str(error))
            finally:
                self.is_connected = False
            await self._clock.sleep(self._backoff.next())

    async def _connect(self) -> None:
        settings = self._settings
        async with (
            self._dial(settings, on_config=self._take_config) as uplink,
            Supervisor("stream") as tasks,
        ):
            tasks.spawn(uplink.receive(), name="receive")
            await uplink.register(
                RegisterRequest(
                    cluster_name=settings.cluster_name,
                    token=settings.token.reveal(),
                    version=quarterdeck.__version__,
                    agent_id=self._reader.agent_id,
                )
            )
            tasks.spawn(self._send_all(uplink), name="send")
            tasks.spawn(self._beat(uplink), name="heartbeat")
            await tasks.wait_failed()

    async def _send_all(self, uplink: Uplink) -> None:
        await uplink.accepted.wait()
        self._backoff.reset()
        self.is_connected = True
        _log.info("connected to the hub", address=self._settings.ingester_address)
        retry = self._make_backoff()
        while True:
            self._filled.clear()
            found = await asyncio.to_thread(self._buffer.peek)
            if found is None:
                await self._filled.wait()
                continue
            entry, chunks = found
            try:
                ack = await run_within(self._clock, ACK_S, uplink.push(chunks))
            except TimeoutError:
                raise Disconnected(f"the hub did not answer within {ACK_S:g} s") from None
            if ack.success or ack.is_permanent:
                if not ack.success:
                    _log.error("the hub refused a batch permanently", reason=ack.error)
                await asyncio.to_thread(self._buffer.remove, entry)
                self.sent += ack.success
                retry.reset()
            else:
                _log.warning("the hub could not store a batch", reason=ack.error)
                await self._clock.sleep(retry.next())

    async def _beat(self, uplink: Uplink) -> None:
        while True:
            await self._clock.sleep(HEARTBEAT_S)
            await uplink.send_heartbeat(
                HealthReport(
                    cluster_name=self._settings.cluster_name,
                    timestamp=self._clock.now(),
                    uptime_seconds=int(self._clock.monotonic() - self._began),
                    buffered_batches=len(self._buffer),
                    last_collection_duration_ms=self._reader.last_duration_ms,
                    dropped_batches=self._buffer.dropped,
                )
            )

    def _make_backoff(self) -> Backoff:
        return Backoff(
            initial_s=FIRST_RETRY_S, cap_s=LAST_RETRY_S, jitter=JITTER, random=self._random
        )
