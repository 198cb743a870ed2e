"""Health, readiness and explain over HTTP: plain functions from a request to a response.

`/healthz` and `/readyz` list their checks with `?verbose`, leave some out with `?exclude=`, and
each check has a path of its own. Readiness fails while a watch is stale, because the operator
does not see changes then. Pages that show objects (`/explain`, `/debug`) or change anything are
for callers on this machine, which includes `kubectl port-forward`; probes may come from anywhere.
"""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import parse_qs

from quarterdeck.kit import json
from quarterdeck.kit.http import Request, Response
from quarterdeck.kit.http.cross_site import find_cross_site_header
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.reconcile.journal import Journal, explain, to_json

Check = Callable[[], str]
"""Returns a problem, or an empty string."""

_TEXT = [("content-type", "text/plain; charset=utf-8"), ("x-content-type-options", "nosniff")]
_LOCAL = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1", ""})
_JSON = [("content-type", "application/json")]


def run_checks(
    name: str,
    checks: Mapping[str, Check],
    path: str,
    query: str,
    *,
    notes: Mapping[str, Check] = MappingProxyType({}),
) -> Response:
    """Answer `/healthz`, `/readyz`, or one of their checks; `notes` add details to a passed one."""
    options = parse_qs(query, keep_blank_values=True)
    wanted = path.removeprefix(f"/{name}").strip("/")
    if wanted:
        if wanted not in checks:
            return _build_text(
                404, f"check {wanted!r} not found; checks of {name}: {', '.join(checks)}\n"
            )
        checks = {wanted: checks[wanted]}
    excluded = set(options.get("exclude", ()))
    lines, failed = [], False
    for check_name, check in checks.items():
        if check_name in excluded:
            lines.append(f"[+]{check_name} excluded: ok")
            continue
        trouble = _run_check(check)
        failed = failed or bool(trouble)
        note = _run_check(notes[check_name]) if check_name in notes else ""
        passed = f"[+]{check_name} ok{f' ({note})' if note else ''}"
        lines.append(f"[-]{check_name} failed: {trouble}" if trouble else passed)
    if failed:
        return _build_text(500, "\n".join([*lines, f"{name} check failed\n"]))
    if "verbose" in options:
        return _build_text(200, "\n".join([*lines, f"{name} check passed\n"]))
    return _build_text(200, "ok")


def _run_check(check: Check) -> str:
    try:
        return check()
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def ping() -> str:
    """A check that always passes: it shows that the process answers."""
    return ""


class HealthEndpoints:
    """The handler of the health port."""

    def __init__(
        self,
        *,
        live: Mapping[str, Check],
        ready: Mapping[str, Check],
        notes: Mapping[str, Check] = MappingProxyType({}),
        journals: Callable[[], Iterable[Journal]],
        state: Callable[[], dict[str, Any]],
    ) -> None:
        self._live = live
        self._ready = ready
        self._notes = notes
        self._journals = journals
        self._state = state

    async def handle(self, request: Request) -> Response:
        """Route one request."""
        path = request.path.rstrip("/") or "/"
        head = path.split("/")[1] if path != "/" else ""
        match head:
            case "healthz" | "livez":
                return run_checks(head, self._live, path, request.query)
            case "readyz":
                return run_checks(head, self._ready, path, request.query, notes=self._notes)
            case "explain" | "debug" | "loglevel" if request.peer.host not in _LOCAL:
                return _build_text(
                    403, "Forbidden: only callers on this machine may read this page\n"
                )
            case "explain" | "debug" | "loglevel" if header := find_cross_site_header(request):
                return _build_text(
                    403, f"Forbidden: requests from web pages are refused ({header})\n"
                )
            case "explain":
                return self.explain(path)
            case "debug" if path == "/debug/state":
                return _build_json(self._state())
            case "loglevel":
                return self._handle_level(request)
            case _:
                pages = "/healthz /readyz /explain/KIND/NAMESPACE/NAME /debug/state /loglevel"
                return _build_text(404, f"not found; pages: {pages}\n")

    def explain(self, path: str) -> Response:
        """The last reconciles for a path below `/explain`; the caller authorizes the request."""
        match path.split("/")[2:]:
            case [kind, namespace, name]:
                found = explain(self._journals(), kind, Key(namespace, name))
            case [kind, name]:
                found = explain(self._journals(), kind, Key("", name))
            case []:
                found = [
                    {
                        "controller": journal.controller,
                        "kind": journal.kind,
                        "recent": [to_json(record) for record in journal.recent()],
                    }
                    for journal in self._journals()
                ]
            case _:
                return _build_text(
                    404, "not found: use /explain/KIND/NAMESPACE/NAME or /explain/KIND/NAME\n"
                )
        if not found:
            kinds = ", ".join(sorted({journal.kind for journal in self._journals()})) or "none"
            return _build_json(
                {"error": f"no controller reconciles this kind; kinds: {kinds}"}, 404
            )
        return _build_json({"controllers": found})

    def _handle_level(self, request: Request) -> Response:
        """Read the log level, or set it with PUT `/loglevel?level=debug`."""
        if request.method == "GET":
            return _build_text(200, logging.get_level() + "\n")
        if request.method != "PUT":
            return _build_text(405, "method not allowed: use GET or PUT\n")
        level = parse_qs(request.query).get("level", [""])[0]
        try:
            logging.set_level(level)
        except ValueError as error:
            return _build_text(400, f"{error}\n")
        return _build_text(200, logging.get_level() + "\n")


def _build_text(status: int, body: str) -> Response:
    return Response(status, _TEXT, body.encode())


def _build_json(document: dict[str, Any], status: int = 200) -> Response:
    return Response(status, _JSON, json.encode(document))
