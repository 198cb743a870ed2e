"""The server's own figures under Kubernetes' names, in Prometheus' text format.

Kept as plain dictionaries that cost a lookup a request; text is made only when somebody asks.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping

_BUCKETS = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 10.0)
_LABELS = ("verb", "group", "version", "resource", "subresource", "scope")

RequestKey = tuple[str, str, str, str, str, str]
"""Verb, group, version, resource, subresource and scope."""
Gauges = Callable[[], Mapping[str, tuple[str, float]]]
"""Figures that are read when asked for: name -> (help, value)."""


class Metrics:
    """What one server counts."""

    def __init__(self) -> None:
        self._counts: dict[tuple[RequestKey, int], int] = {}
        self._durations: dict[RequestKey, list[float]] = {}

    def observe(self, key: RequestKey, code: int, duration_s: float) -> None:
        """Count one answered request."""
        counted = (key, code)
        self._counts[counted] = self._counts.get(counted, 0) + 1
        histogram = self._durations.get(key)
        if histogram is None:
            histogram = self._durations[key] = [0.0] * (len(_BUCKETS) + 2)
        histogram[bisect_left(_BUCKETS, duration_s)] += 1
        histogram[-1] += duration_s

    def text(self, gauges: Mapping[str, tuple[str, float]]) -> bytes:
        """Everything in Prometheus' text format."""
        lines: list[str] = []
        lines += _family(
            "apiserver_request_total", "counter", "Requests answered, by verb, resource and code."
        )
        for (key, code), count in sorted(self._counts.items()):
            lines.append(_sample("apiserver_request_total", key, count, code=str(code)))
        lines += _family(
            "apiserver_request_duration_seconds", "histogram", "Time to answer, without watches."
        )
        for key, histogram in sorted(self._durations.items()):
            lines += _histogram("apiserver_request_duration_seconds", key, histogram)
        for name, (text, value) in gauges.items():
            lines += _family(name, "counter" if name.endswith("_total") else "gauge", text)
            lines.append(f"{name} {_number(value)}")
        return ("\n".join(lines) + "\n").encode()


def _family(name: str, kind: str, text: str) -> list[str]:
    return [f"# HELP {name} {text}", f"# TYPE {name} {kind}"]


def _sample(name: str, key: RequestKey, value: float, **more: str) -> str:
    pairs: Iterable[tuple[str, str]] = [*zip(_LABELS, key, strict=True), *more.items()]
    labels = ",".join(f'{label}="{_escape(text)}"' for label, text in pairs)
    return f"{name}{{{labels}}} {_number(value)}"


def _histogram(name: str, key: RequestKey, histogram: list[float]) -> list[str]:
    lines: list[str] = []
    total = 0.0
    for bound, count in zip((*map(str, _BUCKETS), "+Inf"), histogram, strict=False):
        total += count
        lines.append(_sample(f"{name}_bucket", key, total, le=bound))
    lines.append(_sample(f"{name}_sum", key, histogram[-1]))
    lines.append(_sample(f"{name}_count", key, total))
    return lines


def _number(value: float) -> str:
    return str(int(value)) if value == int(value) else repr(value)


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
