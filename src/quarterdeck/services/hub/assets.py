"""The web page on the hub's port: files of one folder, beside the API.

Every file is read once, so no request names a path on the disk. A path without a file and without
an extension is the page itself, which finds its way by the path. Names that Vite has put a hash
into never change and are kept by browsers for good.
"""

import asyncio
import hashlib
import mimetypes
import re
from collections.abc import Mapping
from pathlib import Path

import msgspec

from quarterdeck.kit.http import Request, Response

INDEX = "/index.html"
NOT_BUILT = "the dashboard is not installed; build it with make web. The API is below /api/v1"
PAGE_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'"
)
"""Content-Security-Policy of the page: scripts, requests and frames of this origin only."""
_HASHED = re.compile(r"-[A-Za-z0-9_-]{8,}\.[a-z0-9]+$")
_TYPES = {".js": "text/javascript", ".mjs": "text/javascript", ".map": "application/json"}
_TEXT = ("text/", "application/json", "image/svg+xml")
_API = ("/api/", "/healthz", "/readyz")


class Asset(msgspec.Struct, frozen=True, kw_only=True):
    """One file."""

    body: bytes
    content_type: str
    tag: str
    is_permanent: bool
    """Whether the name changes with the content."""


class Assets:
    """Serves the files of a folder; a folder that is not there has none."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: Mapping[str, Asset] | None = None

    @staticmethod
    def is_page(request: Request) -> bool:
        """Whether a request is for the page and not for the API."""
        return request.method in ("GET", "HEAD") and not request.path.startswith(_API)

    async def answer(self, request: Request) -> Response | None:
        """The file of a path, or the page; None if there is neither."""
        if self._files is None:
            self._files = await asyncio.to_thread(load_files, self._folder)
        path = request.path if request.path != "/" else INDEX
        found = self._files.get(path)
        if found is None and "." not in path.rpartition("/")[2]:
            found = self._files.get(INDEX)
        return _build(found, request) if found is not None else None


def load_files(folder: Path) -> dict[str, Asset]:
    """All files below a folder by the path of their URL; blocks."""
    return {
        f"/{path.relative_to(folder).as_posix()}": _load(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink()
    }


def _load(path: Path) -> Asset:
    body = path.read_bytes()
    kind = _TYPES.get(path.suffix) or mimetypes.guess_type(path.name)[0]
    kind = kind or "application/octet-stream"
    return Asset(
        body=body,
        content_type=f"{kind}; charset=utf-8" if kind.startswith(_TEXT) else kind,
        tag=f'"{hashlib.blake2b(body, digest_size=12).hexdigest()}"',
        is_permanent=bool(_HASHED.search(path.name)),
    )


def _build(asset: Asset, request: Request) -> Response:
    kept = "public, max-age=31536000, immutable" if asset.is_permanent else "no-cache"
    headers = [
        ("Content-Type", asset.content_type),
        ("ETag", asset.tag),
        ("Cache-Control", kept),
        ("Content-Security-Policy", PAGE_POLICY),
    ]
    given = request.headers.get("if-none-match") or ""
    if asset.tag in {each.strip().removeprefix("W/") for each in given.split(",")}:
        return Response(304, headers[1:])
    return Response(200, headers, asset.body)
