"""Validation of probes and life-cycle hooks of containers, which must have one handler each."""

import re
from collections.abc import Iterator
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_HANDLERS = ("exec", "httpGet", "tcpSocket", "grpc", "sleep")
_SCHEMES = ("HTTP", "HTTPS")
_HEADER = "[-A-Za-z0-9]+"
_NUMBERS = (
    *("initialDelaySeconds", "timeoutSeconds", "periodSeconds"),
    *("successThreshold", "failureThreshold"),
)


def validate_hooks(container: Object, path: str, grace: int | None) -> Iterator[FieldError]:
    """Check hooks and probes of a container; `grace` is the grace period of its pod in seconds."""
    lifecycle = container.get("lifecycle") or {}
    for member in ("postStart", "preStop"):
        if (handler := lifecycle.get(member)) is not None:
            yield from _validate_handler(handler, f"{path}.lifecycle.{member}", grace)
    for member in PROBES:
        if (probe := container.get(member)) is not None:
            yield from _validate_probe(probe, f"{path}.{member}", grace)
            yield from _validate_purpose(probe, f"{path}.{member}", member)


def _validate_probe(probe: Object, path: str, grace: int | None) -> Iterator[FieldError]:
    yield from _validate_handler(probe, path, grace)
    for number in _NUMBERS:
        yield from validators.validate_non_negative(f"{path}.{number}", probe.get(number))
    period = probe.get("terminationGracePeriodSeconds")
    if period is not None and period <= 0:
        yield invalid(f"{path}.terminationGracePeriodSeconds", period, "must be greater than 0")


def _validate_purpose(probe: Object, path: str, member: str) -> Iterator[FieldError]:
    """Check the rules that depend on the kind of probe."""
    period, successes = probe.get("terminationGracePeriodSeconds"), probe.get("successThreshold")
    if member != "readinessProbe" and successes != 1:
        yield invalid(f"{path}.successThreshold", successes or 0, "must be 1")
    elif member == "readinessProbe" and period is not None:
        text = "must not be set for readinessProbes"
        yield invalid(f"{path}.terminationGracePeriodSeconds", period, text)


def _validate_handler(handler: Object, path: str, grace: int | None) -> Iterator[FieldError]:
    given = [member for member in _HANDLERS if handler.get(member) is not None]
    if not given:
        yield required(path, "must specify a handler type")
        return
    yield from _validate_action(handler[given[0]], f"{path}.{given[0]}", given[0], grace)
    for member in given[1:]:
        yield forbidden(f"{path}.{member}", "may not specify more than 1 handler type")


def _validate_action(
    action: Object, path: str, member: str, grace: int | None
) -> Iterator[FieldError]:
    match member:
        case "exec":
            if not action.get("command"):
                yield required(f"{path}.command")
        case "httpGet":
            yield from _validate_request(action, path)
        case "sleep":
            yield from _validate_sleep(action.get("seconds") or 0, path, grace)
        case _:
            yield from _validate_port(action.get("port"), f"{path}.port")


def _validate_request(request: Object, path: str) -> Iterator[FieldError]:
    if not request.get("path"):
        yield required(f"{path}.path")
    yield from _validate_port(request.get("port"), f"{path}.port")
    scheme = request.get("scheme") or ""
    if scheme not in _SCHEMES:
        yield not_supported(f"{path}.scheme", scheme, _SCHEMES)
    for header in get_items(request, "httpHeaders"):
        name = header.get("name") or ""
        if not re.fullmatch(_HEADER, name):
            text = (
                "a valid HTTP header must consist of alphanumeric characters or '-' (e.g."
                f" 'X-Header-Name', regex used for validation is '{_HEADER}')"
            )
            yield invalid(f"{path}.httpHeaders", name, text)


def _validate_port(port: Any, path: str) -> Iterator[FieldError]:
    yield from validators.validate_port_or_name(path, 0 if port is None else port)


def _validate_sleep(seconds: int, path: str, grace: int | None) -> Iterator[FieldError]:
    if grace is not None and has_feature("PodLifecycleSleepActionAllowZero"):
        if not 0 <= seconds <= grace:
            text = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            yield invalid(path, seconds, text)
    elif grace is not None and not 0 < seconds <= grace:
        text = (
            f"must be greater than 0 and less than terminationGracePeriodSeconds ({grace}). Enable"
            " AllowPodLifecycleSleepActionZeroValue feature gate for zero sleep."
        )
        yield invalid(path, seconds, text)
