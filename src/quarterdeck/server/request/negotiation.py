"""Content negotiation: object, Table or PartialObjectMetadata, as JSON, YAML or protobuf.

Accept headers come from a handful of programs, so each distinct header is parsed once.
"""

import enum
import functools
from typing import NamedTuple

from quarterdeck.wire.media import JSON, PROTOBUF, YAML, MediaRange, parse_accept
from quarterdeck.wire.status import Details, NotAcceptable

_META_GROUP = "meta.k8s.io"
_DISCOVERY_GROUP = "apidiscovery.k8s.io"
_PRODUCED = (JSON, YAML, PROTOBUF)
_STREAMED = (f"{JSON};stream=watch", f"{PROTOBUF};stream=watch")
_TABLE_VERSIONS = frozenset({"v1", "v1beta1"})


class Form(enum.Enum):
    """The form of the answer: object, table or partial metadata."""

    OBJECT = "object"
    TABLE = "Table"
    METADATA = "PartialObjectMetadata"


class Choice(NamedTuple):
    """The negotiated form of a response; `version` is that of the Table or metadata kind."""

    form: Form = Form.OBJECT
    version: str = "v1"
    media: str = JSON
    is_list: bool = False
    """Whether the client asks for PartialObjectMetadataList."""


DEFAULT_CHOICE = Choice()


def choose(accept: str | None, *, is_custom: bool = False) -> Choice:
    """Choose the form for an object or a list; custom objects have no protobuf form.

    Raises:
        NotAcceptable: if no form that the client accepts is supported.
    """
    return DEFAULT_CHOICE if not accept else _choose(accept, is_custom)


def check_produced(accept: str | None, *, is_list: bool) -> None:
    """Check that a media type of an Accept header is supported, whatever its parameters.

    Kubernetes does this for built-in kinds before it checks anything else of a request.

    Raises:
        NotAcceptable: listing the media types.
    """
    if accept and not _is_produced(accept):
        listed = ", ".join((*_PRODUCED, *_STREAMED) if is_list else _PRODUCED)
        raise NotAcceptable(
            f"406: Not Acceptable\n\nAvailable representations: {listed}", details=Details()
        )


@functools.lru_cache(maxsize=512)
def _is_produced(accept: str) -> bool:
    types = {each.partition(";")[0].strip() for each in accept.split(",")}
    return not types.isdisjoint((*_PRODUCED, "*/*"))


def choose_error_media(accept: str | None) -> str:
    """Choose the media type of a Status; JSON if the client accepts no supported one."""
    try:
        return choose(accept).media
    except NotAcceptable:
        return JSON


@functools.lru_cache(maxsize=512)
def _choose(accept: str, is_custom: bool) -> Choice:  # noqa: FBT001 - a key of the cache
    for each in parse_accept(accept):
        media = _find_media(each)
        choice = _with_form(media, each) if each.quality and media else None
        if choice is not None and _can_make(choice, is_custom=is_custom):
            return choice
    raise NotAcceptable(
        "only the following media types are accepted: application/json, application/yaml,"
        " application/vnd.kubernetes.protobuf"
    )


def _find_media(accepted: MediaRange) -> str:
    if accepted.includes(JSON):
        return JSON
    return accepted.type if accepted.type in (YAML, PROTOBUF) else ""


def _can_make(choice: Choice, *, is_custom: bool) -> bool:
    """Whether a form can be encoded; Tables and custom objects cannot in protobuf."""
    if choice.media != PROTOBUF:
        return True
    return choice.form is Form.METADATA or (choice.form is Form.OBJECT and not is_custom)


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
        return Choice(Form.METADATA, version, media, wanted.endswith("List"))
    return None


class Discovery(enum.Enum):
    """The kinds of discovery documents, newest first."""

    V2 = "v2"
    V2BETA1 = "v2beta1"
    LEGACY = ""


@functools.lru_cache(maxsize=128)
def choose_discovery(accept: str | None) -> Discovery:
    """Choose the discovery document for the root paths, in the order of preference."""
    for each in parse_accept(accept or ""):
        if not each.includes(JSON):
            continue
        if each.get("as") != "APIGroupDiscoveryList":
            return Discovery.LEGACY
        version = each.get("v")
        if each.get("g") == _DISCOVERY_GROUP and version in ("v2", "v2beta1"):
            return Discovery(version)
    return Discovery.LEGACY
