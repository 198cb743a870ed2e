"""Logs of simulated pods: finds the container and its run, and computes the lines written so far.

No container runs, so a log is a function of the pod and of the time: the annotation `LOGS` holds
the lines, `LOG_INTERVAL` the time between two of them. Without an interval all lines are written
when the container starts; with one they are repeated while it runs. Errors have the text of the
API server and of the kubelet.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from quarterdeck.kit import duration
from quarterdeck.kit.rfc3339 import parse
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.simulation import LOG_INTERVAL, LOGS
from quarterdeck.server.registry.resource import Object
from quarterdeck.wire.query import PodLogOptions
from quarterdeck.wire.status import BadRequest

KEPT_LINES = 10_000
"""Older lines are not returned, as after the rotation of a log file."""
_NANO = 1_000_000_000
_MIN_INTERVAL_S = 0.001
_WAITING_WORDS = {
    "ErrImagePull": "image can't be pulled",
    "ImagePullBackOff": "trying and failing to pull image",
}
_LIST_OF_STATUSES = {
    "containers": "containerStatuses",
    "initContainers": "initContainerStatuses",
    "ephemeralContainers": "ephemeralContainerStatuses",
}


class Run(NamedTuple):
    """One run of a container, from its start to its exit."""

    started: datetime
    ended: datetime | None
    """None while it runs."""
    exit_line: str = ""


class LogLine(NamedTuple):
    """A line of a log."""

    number: int
    written: datetime
    text: str


class ContainerLog(NamedTuple):
    """The log of one run of a container."""

    run: Run
    lines: tuple[str, ...]
    interval_s: float | None
    """The time between two lines; None if all are written once, at the start."""
    names: tuple[tuple[str, str], ...]
    """Placeholders and their values."""

    def count_lines(self, now: datetime) -> int:
        """Return how many lines are written until `now`."""
        until = now if self.run.ended is None else min(now, self.run.ended)
        if until < self.run.started or not self.lines:
            return 0
        if self.interval_s is None:
            return len(self.lines) + bool(self.run.exit_line)
        return int((until - self.run.started).total_seconds() / self.interval_s) + 1

    def get_line(self, number: int) -> LogLine:
        """Return one line; the first has the number 0."""
        start = self.run.started
        if self.interval_s is None:
            if number == len(self.lines):
                return LogLine(number, self.run.ended or start, self.run.exit_line)
            return LogLine(number, start, self._fill(self.lines[number], number))
        text = self._fill(self.lines[number % len(self.lines)], number)
        return LogLine(number, start + timedelta(seconds=number * self.interval_s), text)

    def compute_next_line_s(self, now: datetime) -> float | None:
        """Compute the seconds until the next line; None if no line follows at a fixed time."""
        if self.interval_s is None or self.run.ended is not None or not self.lines:
            return None
        due = self.get_line(self.count_lines(now)).written
        return max(_MIN_INTERVAL_S, (due - now).total_seconds())

    def read(self, options: PodLogOptions, now: datetime) -> Iterator[LogLine]:
        """Yield the lines that are written by now and selected by the options."""
        total = self.count_lines(now)
        first = max(0, total - KEPT_LINES)
        if options.tail_lines is not None:
            first = max(first, total - options.tail_lines)
        since = _find_since(options, now)
        for number in range(first, total):
            line = self.get_line(number)
            if since is None or line.written >= since:
                yield line

    def _fill(self, text: str, number: int) -> str:
        for name, value in (*self.names, ("{n}", str(number + 1))):
            text = text.replace(name, value)
        return text


def _find_since(options: PodLogOptions, now: datetime) -> datetime | None:
    if options.since_seconds is not None:
        return now - duration.from_seconds(options.since_seconds)
    return parse(options.since_time) if options.since_time else None


def validate_options(options: PodLogOptions) -> Iterator[FieldError]:
    """Check the options of a request, as `PodLogOptions` are validated."""
    if options.tail_lines is not None and options.tail_lines < 0:
        yield invalid("tailLines", options.tail_lines, "must be greater than or equal to 0")
    if options.limit_bytes is not None and options.limit_bytes < 1:
        yield invalid("limitBytes", options.limit_bytes, "must be greater than 0")
    if options.since_seconds is not None and options.since_time:
        yield forbidden("", "at most one of `sinceTime` or `sinceSeconds` may be specified")
    elif options.since_seconds is not None and options.since_seconds < 1:
        yield invalid("sinceSeconds", options.since_seconds, "must be greater than 0")


def build_log(pod: Object, options: PodLogOptions) -> ContainerLog:
    """Build the log that the options select.

    Raises:
        BadRequest: if the container does not exist, or has not run.
    """
    container = find_container(pod, options.container)
    run = find_run(pod, container, previous=options.previous)
    return _build_log(pod, container, run)


def find_container(pod: Object, name: str) -> str:
    """Find the container to read; the only one needs no name.

    Raises:
        BadRequest: if the name is missing or wrong.
    """
    main, init, ephemeral = (
        [str(each.get("name")) for each in get_items(pod, "spec", member)]
        for member in _LIST_OF_STATUSES
    )
    pod_name = pod["metadata"]["name"]
    if name:
        if name in (*main, *init, *ephemeral):
            return name
        raise BadRequest(f"container {name} is not valid for pod {pod_name}")
    if len(main) == 1:
        return main[0]
    choices = " ".join(main)
    text = f"a container name must be specified for pod {pod_name}, choose one of: [{choices}]"
    if init:
        text += f" or one of the init containers: [{' '.join(init)}]"
    raise BadRequest(text)


def find_run(pod: Object, container: str, *, previous: bool) -> Run:
    """Find the current or last run of a container, or the one before.

    Raises:
        BadRequest: if it has not run.
    """
    subject = f'container "{container}" in pod "{pod["metadata"]["name"]}"'
    status = _find_status(pod, container)
    last = get_mapping(status, "lastState", "terminated")
    if previous:
        if not last:
            raise BadRequest(f"previous terminated {subject} not found")
        return _build_ended_run(container, last)
    if running := get_mapping(status, "state", "running"):
        return Run(parse(running["startedAt"]), None)
    if terminated := get_mapping(status, "state", "terminated"):
        return _build_ended_run(container, terminated)
    if last:
        return _build_ended_run(container, last)
    if waiting := get_mapping(status, "state", "waiting"):
        reason = str(waiting.get("reason") or "")
        words = _WAITING_WORDS.get(reason, reason)
        raise BadRequest(f"{subject} is waiting to start: {words}")
    raise BadRequest(f"{subject} is not available")


def _find_status(pod: Object, container: str) -> Object:
    for member in _LIST_OF_STATUSES.values():
        for each in get_items(pod, "status", member):
            if each.get("name") == container:
                found: Object = each
                return found
    return {}


def _build_ended_run(container: str, terminated: Object) -> Run:
    code, reason = terminated.get("exitCode") or 0, terminated.get("reason") or "Error"
    line = f"simulated container {container} exited with code {code} ({reason})"
    return Run(parse(terminated["startedAt"]), parse(terminated["finishedAt"]), line)


def _build_log(pod: Object, container: str, run: Run) -> ContainerLog:
    notes = get_mapping(pod, "metadata", "annotations")
    image = _find_image(pod, container)
    names = (
        ("{pod}", pod["metadata"]["name"]),
        ("{namespace}", pod["metadata"].get("namespace") or ""),
        ("{node}", str(get_field(pod, "spec", "nodeName") or "")),
        ("{container}", container),
        ("{image}", image),
    )
    given = notes.get(f"{LOGS}.{container}", notes.get(LOGS))
    if given is None:
        start = f"simulated container {container} of image {image} started; annotate the pod with"
        return ContainerLog(run, (f"{start} {LOGS} to choose its lines",), None, names)
    lines, interval_s = tuple(given.splitlines()), _parse_interval(notes.get(LOG_INTERVAL))
    return ContainerLog(run._replace(exit_line=""), lines, interval_s, names)


def _find_image(pod: Object, container: str) -> str:
    for member in _LIST_OF_STATUSES:
        for each in get_items(pod, "spec", member):
            if each.get("name") == container:
                return str(each.get("image") or "")
    return ""


def _parse_interval(text: str | None) -> float | None:
    """Parse the interval of the annotation; an invalid one counts as absent."""
    if text is None:
        return None
    try:
        seconds = duration.parse(text) / _NANO
    except ValueError:
        return None
    return max(_MIN_INTERVAL_S, seconds) if seconds > 0 else None


def encode_line(line: LogLine, *, timestamps: bool) -> bytes:
    """Encode a line for the client."""
    if not timestamps:
        return f"{line.text}\n".encode()
    moment = line.written.strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
    return f"{moment} {line.text}\n".encode()
