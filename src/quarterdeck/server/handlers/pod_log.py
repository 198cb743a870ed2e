"""GET of `pods/log`: the lines of a simulated container, once or as they are written."""

from datetime import datetime

from quarterdeck.kit import http
from quarterdeck.kit.rfc3339 import TimeError, parse
from quarterdeck.server import write
from quarterdeck.server.core import Core
from quarterdeck.server.core.timers import Timer
from quarterdeck.server.kinds.fields import get_field, get_mapping
from quarterdeck.server.kinds.pod_log import (
    ContainerLog,
    LogLine,
    build_log,
    encode_line,
    find_container,
    validate_options,
)
from quarterdeck.server.kinds.simulation import NODE_DOWN, SIMULATED_NODE
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.response import responses
from quarterdeck.storage import Closed, SlowWatcher, StoreKey, Watcher
from quarterdeck.wire.query import PodLogOptions
from quarterdeck.wire.status import BadRequest, InternalError, Invalid, NotFound

LOG = "log"
_HEADERS: responses.Headers = [
    ("Cache-Control", "no-cache, private"),
    ("Content-Type", "text/plain"),
]
_MAX_BUFFERED = 64 * 1024
"""A client this far behind gets no further lines until it has read."""


async def handle(core: Core, call: Call) -> responses.Response:
    """Answer with the log of a container; an unscheduled pod has an empty one."""
    options = _parse_options(call)
    pod = await _read_pod(core, call)
    if pod is None:
        raise write.build_not_found(call)
    find_container(pod, options.container)
    node = get_field(pod, "spec", "nodeName")
    if not node:
        return http.Response(200, _HEADERS, b"")
    await _check_node(core, call, node)
    log = build_log(pod, options)
    if options.follow and log.run.ended is None:
        return http.StreamResponse(200, _HEADERS, LogStream(core, call, log, options).run)
    body = b"".join(
        encode_line(each, timestamps=options.timestamps)
        for each in log.read(options, core.clock.now())
    )
    return http.Response(200, _HEADERS, body[: options.limit_bytes])


def _parse_options(call: Call) -> PodLogOptions:
    options = PodLogOptions.parse(call.request.query)
    if errors := list(validate_options(options)):
        raise Invalid.of("PodLogOptions", call.path.name, errors)
    try:
        parse(options.since_time or "2006-01-02T15:04:05Z")
    except TimeError as error:
        raise BadRequest(f"invalid sinceTime: {error}") from error
    return options


async def _read_pod(core: Core, call: Call) -> Object | None:
    entry = core.store.get(call.key)
    return None if entry is None else await core.worker.decode(call.resource, entry)


async def _check_node(core: Core, call: Call, name: str) -> None:
    """Refuse the log of a pod whose node this server does not simulate."""
    resource = core.registry.get(call.resource.gvr._replace(resource="nodes"))
    entry = core.store.get(StoreKey("nodes", "", name))
    if entry is None or resource is None:
        raise NotFound.of("nodes", name)
    node = await core.worker.decode(resource, entry)
    notes = get_mapping(node, "metadata", "annotations")
    if SIMULATED_NODE not in notes:
        raise NotFound(
            f"pods/log of {call.path.name} is not supported: node {name} is not simulated, and this"
            " API server does not connect to kubelets"
        )
    if notes.get(NODE_DOWN, "false") != "false":
        raise InternalError.of(f"cannot reach the kubelet of node {name}: the node is down")


class LogStream:
    """A log that one client follows: until its container exits, or client or server end it."""

    def __init__(self, core: Core, call: Call, log: ContainerLog, options: PodLogOptions) -> None:
        self._core = core
        self._call = call
        self._log = log
        self._options = options
        self._next = 0
        self._left = options.limit_bytes
        self._watcher: Watcher | None = None
        self._timer: Timer | None = None

    def close(self) -> None:
        """End the stream cleanly; may be called more than once."""
        if self._watcher is not None:
            self._watcher.close()

    async def run(self, writer: http.BodyWriter) -> None:
        """Write what is there, then every line when it is due."""
        core = self._core
        self._watcher = core.store.watch(
            self._call.key.resource, after=core.store.revision, namespace=self._call.path.namespace
        )
        core.streams.add(self)
        try:
            now = core.clock.now()
            self._next = self._log.count_lines(now)
            self._write(writer, list(self._log.read(self._options, now)))
            self._set_timer(writer)
            await self._wait_for_exit(writer, self._watcher)
        except (http.ConnectionClosed, Closed, SlowWatcher):
            return
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self.close()
            core.streams.discard(self)

    async def _wait_for_exit(self, writer: http.BodyWriter, watcher: Watcher) -> None:
        """Wait until the run is over, and write its last lines."""
        while (until := await self._find_end()) is None:
            try:
                await anext(watcher)
            except StopAsyncIteration:
                return
        self._log = self._log._replace(run=self._log.run._replace(ended=until))
        self._write_new(writer)

    async def _find_end(self) -> datetime | None:
        """Find the time at which the run ended; None while it continues."""
        pod = await _read_pod(self._core, self._call)
        if pod is None:
            return self._core.clock.now()
        try:
            current = build_log(pod, self._options)
        except BadRequest:
            return self._core.clock.now()
        if current.run.started != self._log.run.started:
            return current.run.started
        self._log = current
        return current.run.ended

    def _set_timer(self, writer: http.BodyWriter) -> None:
        seconds = self._log.compute_next_line_s(self._core.clock.now())
        if seconds is not None:
            self._timer = self._core.timers.call_later(seconds, lambda: self._on_timer(writer))

    def _on_timer(self, writer: http.BodyWriter) -> None:
        try:
            if writer.buffered < _MAX_BUFFERED:
                self._write_new(writer)
        except http.ConnectionClosed:
            self.close()
            return
        self._set_timer(writer)

    def _write_new(self, writer: http.BodyWriter) -> None:
        total = self._log.count_lines(self._core.clock.now())
        self._write(writer, [self._log.get_line(each) for each in range(self._next, total)])
        self._next = max(self._next, total)

    def _write(self, writer: http.BodyWriter, lines: list[LogLine]) -> None:
        data = b"".join(encode_line(each, timestamps=self._options.timestamps) for each in lines)
        if self._left is not None:
            data = data[: self._left]
            self._left -= len(data)
        writer.write_nowait(data)
        if self._left == 0:
            self.close()
