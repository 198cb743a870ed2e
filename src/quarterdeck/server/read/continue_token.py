r"""Continue tokens: where the next page of a list starts, and at which revision.

The same shape as Kubernetes': base64url of `{"v":"meta.k8s.io/v1","rv":212,"start":"a\u0000"}`.
"""

import base64
import binascii
from typing import Any, NamedTuple

from quarterdeck.kit import base64url
from quarterdeck.kit import json as kit_json
from quarterdeck.wire.json_errors import find_syntax_error
from quarterdeck.wire.status import BadRequest

_VERSION = "meta.k8s.io/v1"
INCONSISTENT = -1
"""The revision in a token that continues at the newest state, after the page has expired."""


class Position(NamedTuple):
    """The last object of a page, and the revision all pages are read at."""

    revision: int
    after: tuple[str, str]


def encode(position: Position, namespace: str | None) -> str:
    """Encode the token for a list of one namespace, or of all (or of a cluster-scoped resource)."""
    home, name = position.after
    start = name if namespace is not None or not home else f"{home}/{name}"
    document = {"v": _VERSION, "rv": position.revision, "start": f"{start}\0"}
    return base64url.encode(kit_json.encode(document))


def decode(token: str, namespace: str | None) -> Position:
    """Decode a token of this server, or of another Kubernetes server.

    Raises:
        BadRequest: if the token is not valid.
    """
    document = _parse_document(token)
    version, revision, start = document.get("v"), document.get("rv"), document.get("start")
    if version != _VERSION:
        raise _build_refusal(f"server does not recognize this encoded version {version or ''}")
    if not isinstance(revision, int) or revision == 0:
        raise _build_refusal(f"incorrect encoded start resourceVersion (version {_VERSION})")
    if not isinstance(start, str) or not start:
        raise _build_refusal(f"encoded start key empty (version {_VERSION})")
    key = start.removesuffix("\0")
    home, slash, name = key.rpartition("/")
    if "/" in home or "\0" in key or ".." in key.split("/") or (namespace is not None and slash):
        raise _build_refusal(start)
    return Position(revision, (namespace if namespace is not None else home, name))


def _parse_document(token: str) -> dict[str, Any]:
    try:
        text = base64.b64decode(
            token.encode() + b"=" * (-len(token) % 4), altchars=b"-_", validate=True
        )
    except (binascii.Error, ValueError) as error:
        raise _build_refusal("illegal base64 data at input byte 0") from error
    try:
        document = kit_json.decode(text)
    except kit_json.JsonError as error:
        raise _build_refusal(
            find_syntax_error(text.decode("utf-8", "replace")) or str(error)
        ) from error
    if not isinstance(document, dict):
        raise _build_refusal("json: cannot unmarshal into Go value of type storage.continueToken")
    return document


def _build_refusal(why: str) -> BadRequest:
    return BadRequest(f"invalid continue token: continue key is not valid: {why}")
