"""Compression of responses with gzip."""

import zlib
from typing import Any

from quarterdeck.kit import http

COMPRESSION_SPEED = 16
"""Compressing a body is faster than decoding it by this factor."""
_GZIP_LEVEL = 1


def accepts_gzip(request: http.Request) -> bool:
    """Whether the client can read gzip."""
    header = request.headers.get("accept-encoding")
    return header is not None and "gzip" in header and "gzip;q=0" not in header.replace(" ", "")


def build_compressor() -> Any:
    """Build a compressor that writes the gzip format."""
    return zlib.compressobj(_GZIP_LEVEL, zlib.DEFLATED, 16 + zlib.MAX_WBITS)


def compress(body: bytes) -> bytes:
    """Compress a whole body."""
    compressor = build_compressor()
    compressed: bytes = compressor.compress(body) + compressor.flush()
    return compressed
