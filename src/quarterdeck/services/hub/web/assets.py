"""The built files of the dashboard, from the folder that `make web` fills and the wheel carries.

Names of files under `assets/` contain a hash of their content, so browsers may cache them forever.
All other paths return the page itself, because the page handles its routes in the browser.
"""

import gzip
import mimetypes
from pathlib import Path
from typing import NamedTuple

from quarterdeck.kit.http import Request, Response

FOLDER = Path(__file__).parent / "static"
CONTENT_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "font-src 'self'; connect-src 'self'; manifest-src 'self'; base-uri 'none'; "
    "form-action 'self'; frame-ancestors 'none'"
)
SECURITY = [
    ("Content-Security-Policy", CONTENT_SECURITY_POLICY),
    ("X-Content-Type-Options", "nosniff"),
    ("X-Frame-Options", "DENY"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"),
]
_INDEX = "index.html"
_HASHED = "assets/"
_FOR_GOOD = "public, max-age=31536000, immutable"
_TEXT = (".html", ".js", ".css", ".svg", ".json", ".webmanifest")
BUILDING_CSS = "/building.css"
_BUILDING = b"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Quarterdeck</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="refresh" content="2">
<link rel="stylesheet" href="/building.css"></head>
<body><main><h1>Quarterdeck</h1>
<p>The control plane is running. Its dashboard is being built; this page reloads until it is ready.
</p><p class="hint">The first build takes about half a minute. If nothing happens, run
<code>make web</code> and read what it prints.</p></main></body></html>
"""
_CSS = b"""body{font:16px/1.5 system-ui,sans-serif;margin:0;display:grid;place-items:center;
min-height:100vh;background:#f7f8fa;color:#16202c}main{max-width:30rem;padding:2rem}
h1{font-size:1.25rem}.hint{color:#50606f}code{font-family:ui-monospace,monospace}
@media(prefers-color-scheme:dark){body{background:#0f141a;color:#e4e9ef}.hint{color:#9fb0c0}}
"""


class _File(NamedTuple):
    body: bytes
    packed: bytes | None
    """The body in gzip, where that is shorter."""
    headers: list[tuple[str, str]]


class Assets:
    """Answers with files; reads each once per build."""

    def __init__(self, folder: Path = FOLDER) -> None:
        self._folder = folder
        self._files: dict[str, _File] = {}
        self._built = 0.0

    def answer(self, request: Request) -> Response:
        """The file of a path, the page for every other path, or a notice until it is built."""
        if request.method not in ("GET", "HEAD"):
            return Response(405, [("Allow", "GET, HEAD"), *SECURITY])
        if not self._refresh():
            return _answer_building(request.path)
        name = request.path.lstrip("/")
        if name.startswith(_HASHED) or "." in name.rpartition("/")[2]:
            found = self._read(name)
            if found is not None:
                return _respond(request, found)
            if name.startswith(_HASHED):
                return Response(404, [("Cache-Control", "no-store"), *SECURITY])
        found = self._read(_INDEX)
        return _respond(request, found) if found else _answer_building(request.path)

    def _refresh(self) -> bool:
        """Whether the dashboard is built; after a new build, drops the cached files."""
        try:
            built = (self._folder / _INDEX).stat().st_mtime
        except OSError:
            return False
        if built != self._built:
            self._files.clear()
            self._built = built
        return True

    def _read(self, name: str) -> _File | None:
        if name in self._files:
            return self._files[name]
        try:
            path = (self._folder / name).resolve()
            if not path.is_relative_to(self._folder.resolve()) or not path.is_file():
                return None
        except (OSError, ValueError):  # no file can have this name: too long, or with a NUL
            return None
        self._files[name] = _load(name, path.read_bytes())
        return self._files[name]


def _load(name: str, body: bytes) -> _File:
    kind = mimetypes.guess_type(name)[0] or "application/octet-stream"
    if name.endswith(".js"):
        kind = "text/javascript"
    charset = "; charset=utf-8" if kind.startswith("text/") else ""
    cache = _FOR_GOOD if name.startswith(_HASHED) else "no-cache"
    packed = gzip.compress(body, 9, mtime=0) if name.endswith(_TEXT) else None
    headers = [("Content-Type", kind + charset), ("Cache-Control", cache), *SECURITY]
    return _File(body, packed, headers)


def _respond(request: Request, file: _File) -> Response:
    if file.packed is not None and "gzip" in (request.headers.get("accept-encoding") or ""):
        extra = [("Content-Encoding", "gzip"), ("Vary", "Accept-Encoding")]
        return Response(200, [*file.headers, *extra], file.packed)
    return Response(200, list(file.headers), file.body)


def _answer_building(path: str) -> Response:
    if path == BUILDING_CSS:
        return Response(200, [("Content-Type", "text/css"), *SECURITY], _CSS)
    headers = [("Content-Type", "text/html; charset=utf-8"), ("Cache-Control", "no-store")]
    return Response(200, [*headers, *SECURITY], _BUILDING)
