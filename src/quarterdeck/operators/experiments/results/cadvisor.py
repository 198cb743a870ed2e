"""CPU and memory of pods from kubelets' cAdvisor pages, where no metrics store has them. Pure.

CPU is a counter of seconds since a container started: divided by its age it is the average number
of cores, for which one reading is enough.
"""

import math
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import NamedTuple

from quarterdeck.kit import rfc3339
from quarterdeck.operators.experiments.results.document import Point
from quarterdeck.operators.experiments.results.queries import (
    INFRASTRUCTURE_PODS,
    SYSTEM_NAMESPACES,
)

_CPU = "container_cpu_usage_seconds_total"
_MEMORY = "container_memory_working_set_bytes"
_START = "container_start_time_seconds"
_LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)(?: -?\d+)?")
_LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"')
_PODS = re.compile(INFRASTRUCTURE_PODS)
_NAMESPACES = re.compile(SYSTEM_NAMESPACES)
_LEAST_AGE_S = 1.0


class Sample(NamedTuple):
    """One line of a page."""

    name: str
    labels: Mapping[str, str]
    value: float


class _Container(NamedTuple):
    namespace: str
    pod: str
    container: str
    id: str


def parse(text: str) -> Iterator[Sample]:
    """Parse the samples of a page; other lines are skipped."""
    for line in text.splitlines():
        match = _LINE.fullmatch(line)
        if match is not None:
            try:
                value = float(match[3])
            except ValueError:
                continue
            yield Sample(match[1], dict(_LABEL.findall(match[2] or "")), value)


def measure(text: str, *, now: datetime) -> dict[str, list[Point]]:
    """Compute the default metrics, by pod and in total; empty if there are no pods."""
    cpu: dict[str, float] = {}
    memory: dict[str, float] = {}
    found = _group(text)
    for container, values in found.items():
        if _MEMORY in values:
            memory[container.pod] = memory.get(container.pod, 0.0) + values[_MEMORY]
        if _CPU in values and _START in values:
            age_s = max(_LEAST_AGE_S, now.timestamp() - values[_START])
            cpu[container.pod] = cpu.get(container.pod, 0.0) + values[_CPU] / age_s
    stamp = rfc3339.format_time(now)
    points: dict[str, list[Point]] = {}
    for name, by_pod in (("cpu", cpu), ("memory", memory)):
        if by_pod:
            points[f"{name}_by_pod"] = [
                Point(value=value, timestamp=stamp, labels={"pod": pod})
                for pod, value in sorted(by_pod.items())
            ]
            points[f"{name}_total"] = [Point(value=math.fsum(by_pod.values()), timestamp=stamp)]
    return points


def _group(text: str) -> dict[_Container, dict[str, float]]:
    """Group values by container, without system and observability pods."""
    found: dict[_Container, dict[str, float]] = {}
    for sample in parse(text):
        labels = sample.labels
        pod, namespace = labels.get("pod", ""), labels.get("namespace", "")
        container = labels.get("container", "")
        is_wanted = sample.name in (_CPU, _MEMORY, _START) and pod and container not in ("", "POD")
        if not is_wanted or not math.isfinite(sample.value):
            continue
        if _PODS.fullmatch(pod) or _NAMESPACES.fullmatch(namespace):
            continue
        key = _Container(namespace, pod, container, labels.get("id", ""))
        values = found.setdefault(key, {})
        before = values.get(sample.name, 0.0) if sample.name == _CPU else 0.0
        values[sample.name] = before + sample.value  # CPU may come as one series per processor
    return found
