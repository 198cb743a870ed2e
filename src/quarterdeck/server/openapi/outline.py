"""An OpenAPI v2 document in protobuf without definitions, which kubectl reads for unknown kinds.

Modern clients read v3, or v2 as JSON. kubectl requests v2 in protobuf only for kinds that v3 does
not have, such as kinds that do not exist. With an empty document kubectl reports that the kind does
not exist; without a document it would report an error about the format.
"""

MEDIA_TYPE = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_TITLE = "Kubernetes"
# field numbers of gnostic's openapi.v2.Document and Info
_SWAGGER, _INFO, _PATHS = 1, 2, 8
_INFO_TITLE, _INFO_VERSION = 1, 2


def is_wanted(accept: str | None) -> bool:
    """Whether a client reads v2 in protobuf and nothing else."""
    return accept is not None and "proto-openapi.spec.v2" in accept and "json" not in accept


def build_outline(version: str) -> bytes:
    """Build a document with a version, and without paths and definitions."""
    info = _encode_field(_INFO_TITLE, _TITLE.encode()) + _encode_field(
        _INFO_VERSION, version.encode()
    )
    return _encode_field(_SWAGGER, b"2.0") + _encode_field(_INFO, info) + _encode_field(_PATHS, b"")


def _encode_field(number: int, content: bytes) -> bytes:
    """Encode a length-delimited field; everything here is shorter than 128 bytes."""
    assert len(content) < 0x80
    return bytes((number << 3 | 2, len(content))) + content
