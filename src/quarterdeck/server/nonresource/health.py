"""`/livez`, `/readyz` and `/healthz`, as a whole and check by check."""

from collections.abc import Callable, Mapping

from quarterdeck.kit import http
from quarterdeck.server.response.responses import TEXT_HEADERS
from quarterdeck.wire.query import parse_query

Check = Callable[[], str | None]
"""A health check: returns the error, or None if it passes."""

ENDPOINTS = ("livez", "readyz", "healthz")


class Health:
    """The checks of one server; checks that only matter for readiness are left out of `livez`."""

    def __init__(self, checks: Mapping[str, Check], *, only_ready: frozenset[str]) -> None:
        self._checks = dict(checks)
        self._only_ready = only_ready

    def answer(self, path: str, query: str) -> http.Response | None:
        """Build the response for a path below an endpoint; None if there is no such check."""
        endpoint, _, name = path.strip("/").partition("/")
        checks = {
            each: check
            for each, check in self._checks.items()
            if endpoint != "livez" or each not in self._only_ready
        }
        parameters = parse_query(query)
        if name:
            if name not in checks:
                return None
            checks = {name: checks[name]}
        for excluded in parameters.get("exclude", []):
            checks.pop(excluded, None)
        return _build_response(endpoint, checks, is_verbose="verbose" in parameters)


def _build_response(
    endpoint: str, checks: Mapping[str, Check], *, is_verbose: bool
) -> http.Response:
    problems = {name: check() for name, check in checks.items()}
    is_well = not any(problems.values())
    if is_well and not is_verbose:
        return http.Response(200, TEXT_HEADERS, b"ok")
    lines = [
        f"[-]{name} failed: {problem}" if problem else f"[+]{name} ok"
        for name, problem in problems.items()
    ]
    lines.append(f"{endpoint} check {'passed' if is_well else 'failed'}")
    return http.Response(200 if is_well else 500, TEXT_HEADERS, "\n".join(lines).encode() + b"\n")
