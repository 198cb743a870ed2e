"""Content negotiation: object, Table or PartialObjectMetadata, as JSON or YAML.

Accept headers come from a handful of programs, so each distinct header is parsed once.
"""

import enum
import functools
from typing import NamedTuple

from quarterdeck.wire.media import JSON, YAML, MediaRange, parse_accept
from quarterdeck.wire.status import NotAcceptable

_META_GROUP = "meta.k8s.io"
_DISCOVERY_GROUP = "apidiscovery.k8s.io"
_TABLE_VERSIONS = frozenset({"v1", "v1beta1"})


class Form(enum.Enum):
    """What stands in for the object."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


class Choice(NamedTuple):
    """The form of an answer; `version` is the one of the Table or metadata kinds."""

    form: Form = Form.OBJECT
    version: str = "v1"
    media: str = JSON


DEFAULT_CHOICE = Choice()


def choose(accept: str | None) -> Choice:
    """The form for an object or a list.

    Raises:
        NotAcceptable: if nothing the client accepts can be made.
    """
    return DEFAULT_CHOICE if not accept else _choose(accept)


@functools.lru_cache(maxsize=512)
def _choose(accept: str) -> Choice:
    for each in parse_accept(accept):
        if each.quality and (each.includes(JSON) or each.type == YAML):
            choice = _with_form(YAML if each.type == YAML else JSON, each)
            if choice is not None:
                return choice
    raise NotAcceptable(
        "only the following media types are accepted: application/json, application/yaml,"
        " application/vnd.kubernetes.protobuf"
    )


def _with_form(media: str, accepted: MediaRange) -> Choice | None:
    wanted = accepted.get("as")
    if not wanted:
        return Choice(media=media)
    version = accepted.get("v")
    if accepted.get("g") != _META_GROUP or version not in _TABLE_VERSIONS:
        return None
    if wanted == "Table":
        return Choice(Form.TABLE, version, media)
    if wanted in ("PartialObjectMetadata", "PartialObjectMetadataList"):
        return Choice(Form.METADATA, version, media)
    return None


class Discovery(enum.Enum):
    """The kinds of discovery documents, newest first."""

    V2 = "v2"
    V2BETA1 = "v2beta1"
    LEGACY = ""


@functools.lru_cache(maxsize=128)
def choose_discovery(accept: str | None) -> Discovery:
    """The discovery document for the root paths; the client's order counts."""
    for each in parse_accept(accept or ""):
        if not each.includes(JSON):
            continue
        if each.get("as") != "APIGroupDiscoveryList":
            return Discovery.LEGACY
        version = each.get("v")
        if each.get("g") == _DISCOVERY_GROUP and version in ("v2", "v2beta1"):
            return Discovery(version)
    return Discovery.LEGACY
