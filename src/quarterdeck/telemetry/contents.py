"""Checks a pipeline's contents before they are sent, and compares them without formatting."""

import asyncio
import enum
import functools
from typing import Any

from quarterdeck.kit import yaml
from quarterdeck.telemetry import otel
from quarterdeck.telemetry.alloy import parser
from quarterdeck.telemetry.alloy.tokens import AlloyError
from quarterdeck.telemetry.alloy.tree import Block
from quarterdeck.telemetry.findings import Finding, Severity

_SERVICE_BLOCKS = frozenset({"logging", "tracing", "http", "remotecfg", "livedebugging"})
_OTEL_STARTS = ("receivers:", "processors:", "exporters:", "connectors:", "service:")
_LARGE = 32 * 1024
_LARGE_KEPT = 8
_SMALL_KEPT = 64
"""Cached results: webhook, operator and fleet server check the same contents in turn."""


class ConfigType(enum.StrEnum):
    """The language a pipeline is written in."""

    ALLOY = "Alloy"
    OPEN_TELEMETRY = "OpenTelemetryCollector"


def check(contents: str, config_type: ConfigType) -> list[Finding]:
    """Find everything wrong with a pipeline's contents; recent results are cached."""
    is_large = len(contents) > _LARGE
    return list((_check_large if is_large else _check_small)(contents, config_type))


async def check_in_thread(contents: str, config_type: ConfigType) -> None:
    """Check large contents in a thread, so that `check` finds the result in its cache.

    Thousands of blocks take seconds, which would block the event loop.
    """
    if len(contents) > _LARGE:
        await asyncio.to_thread(_check_large, contents, config_type)


@functools.lru_cache(_SMALL_KEPT)
def _check_small(contents: str, config_type: ConfigType) -> tuple[Finding, ...]:
    return tuple(_check(contents, config_type))


@functools.lru_cache(_LARGE_KEPT)
def _check_large(contents: str, config_type: ConfigType) -> tuple[Finding, ...]:
    return tuple(_check(contents, config_type))


def _check(contents: str, config_type: ConfigType) -> list[Finding]:
    if not contents.strip():
        return [Finding(message="the contents are empty; an empty pipeline clears nothing")]
    if config_type is ConfigType.ALLOY:
        return check_alloy(contents)
    return otel.check(contents)


def check_alloy(contents: str) -> list[Finding]:
    """Check an Alloy pipeline: it must parse, and have only what a `declare` block allows."""
    if contents.lstrip().startswith(_OTEL_STARTS):
        return [
            Finding(message="this is OpenTelemetry YAML; set configType: OpenTelemetryCollector")
        ]
    try:
        statements = parser.parse(contents)
    except AlloyError as error:
        line, column = error.position
        return [Finding(message=error.problem, line=line, column=column)]
    findings = []
    seen: set[tuple[str, str]] = set()
    for statement in statements:
        line, column = statement.where.position
        problem = _check_statement(statement, seen)
        if problem:
            findings.append(Finding(message=problem, line=line, column=column))
    if not statements:
        findings.append(
            Finding(severity=Severity.WARNING, message="there are only comments; nothing will run")
        )
    return findings


def _check_statement(statement: object, seen: set[tuple[str, str]]) -> str:
    if not isinstance(statement, Block):
        return f"the attribute {getattr(statement, 'name', '')!r} is not allowed outside a block"
    if statement.name in _SERVICE_BLOCKS:
        return f"the block {statement.name!r} configures the collector, not a pipeline; remove it"
    identity = (statement.name, statement.label)
    if identity in seen:
        return f"the block {statement.name} {statement.label!r} is declared twice"
    seen.add(identity)
    return ""


def is_equivalent(left: str, right: str, config_type: ConfigType) -> bool:
    """Whether two contents mean the same, whatever their formatting."""
    if left == right:
        return True
    if config_type is ConfigType.ALLOY:
        return parser.is_equivalent(left, right)
    try:
        return _is_same(yaml.load(left), yaml.load(right))
    except yaml.YamlError:
        return [each.rstrip() for each in left.strip().splitlines()] == [
            each.rstrip() for each in right.strip().splitlines()
        ]


def _is_same(left: Any, right: Any) -> bool:
    """Whether two YAML values are equal; `true` is not 1, as it is in Python."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(
            _is_same(value, right[key]) for key, value in left.items()
        )
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_is_same, left, right))
    return isinstance(left, bool) is isinstance(right, bool) and bool(left == right)
