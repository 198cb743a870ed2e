"""Decodes request bodies to objects of the resource's kind.

Checks media type, syntax, `kind` and `apiVersion`, and unknown and duplicate fields, before the
strategy of the kind is called.
"""

from collections.abc import Sequence
from typing import Any

import msgspec

from quarterdeck.kit import http
from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GVK
from quarterdeck.server.registry import go_numbers
from quarterdeck.server.registry.plain_metadata import is_plain
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.type_meta import build_unrecognized, check_type, explain_non_object
from quarterdeck.wire.json_errors import find_syntax_error
from quarterdeck.wire.media import JSON, PROTOBUF, YAML, parse_media_type
from quarterdeck.wire.status import (
    BadRequest,
    RequestEntityTooLarge,
    UnsupportedMediaType,
)

_ACCEPTED = (JSON, YAML, PROTOBUF)
_YAML_TYPES = frozenset({YAML, "application/x-yaml", "text/yaml"})
_OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def take_body(call: Call, limit: int) -> bytes | None:
    """Return the body of a request if it has arrived completely; None if it must be awaited."""
    if call.body is None:
        call.body = call.request.read_nowait(limit)
    return call.body


async def read_body(call: Call, limit: int) -> bytes:
    """Read the body of a request.

    Raises:
        RequestEntityTooLarge: naming the limit.
    """
    if (body := take_body(call, limit)) is not None:
        return body
    try:
        call.body = await call.request.read(limit)
        return call.body
    except http.BodyTooLarge as error:
        raise RequestEntityTooLarge(f"Request entity too large: limit is {limit}") from error


def get_content_type(call: Call) -> str:
    """Return the media type of the body; a body without one is JSON."""
    header = call.request.headers.find("content-type")
    return parse_media_type(header).type if header else JSON


def build_unsupported(*accepted: str) -> UnsupportedMediaType:
    """Build the 415 that lists the accepted media types."""
    return UnsupportedMediaType(
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted)
    )


def decode_document(body: bytes, media: str, *, duplicates: list[str] | None = None) -> Any:
    """Decode a JSON, YAML or protobuf body, whatever its kind.

    Duplicate keys in YAML are added to `duplicates` if it is given, and refused otherwise.

    Raises:
        UnsupportedMediaType: for other media types.
        BadRequest: with the text of Kubernetes.
    """
    if media == JSON:
        try:
            return kit_json.decode(body)
        except kit_json.JsonError as error:
            raise BadRequest(_explain_json_error(body, error)) from error
    if media in _YAML_TYPES:
        return decode_yaml(body, duplicates=duplicates)
    if media == PROTOBUF:
        return _decode_protobuf(body)
    raise build_unsupported(*_ACCEPTED)


def _decode_protobuf(body: bytes) -> Any:
    from quarterdeck.meta import builtins

    try:
        return builtins.decode_protobuf(body)
    except ValueError as error:
        raise BadRequest(f"cannot decode the protobuf body: {error}") from error


def decode_yaml(body: bytes, *, duplicates: list[str] | None = None) -> Any:
    """Decode YAML (or JSON, which is YAML).

    Raises:
        BadRequest: naming the line and the error.
    """
    from quarterdeck.kit import yaml

    try:
        document = yaml.load(body, duplicates=duplicates)
    except yaml.YamlError as error:
        raise BadRequest(f"error converting YAML to JSON: {error}") from error
    if isinstance(document, dict | list):
        go_numbers.write_whole_floats(document)  # as Go does when it converts YAML to JSON
    return document


def format_yaml_duplicates(repeated: list[str]) -> str:
    """Format duplicate keys as one error; warnings name them one by one."""
    return "yaml: unmarshal errors:\n" + "\n".join(f"  {each}" for each in repeated)


def _explain_json_error(body: bytes, error: Exception) -> str:
    text = body.decode("utf-8", "replace")
    return f"json parse error: {find_syntax_error(text) or error}"


def decode_object(call: Call, body: bytes, gvk: GVK, field_validation: str) -> Object:
    """Decode a body as an object of a kind, and normalize it.

    Raises:
        BadRequest, Invalid, UnsupportedMediaType: with the text of Kubernetes.
    """
    media = get_content_type(call)
    repeated: list[str] = []
    try:
        value = decode_document(body, media, duplicates=repeated)
    except BadRequest as error:
        raise build_unrecognized(
            f"couldn't get version/kind; {error.message}", gvk, body
        ) from error
    if value is None:
        value = {}  # Go reads null as an empty object
    if not isinstance(value, dict):
        problem = explain_non_object(value)
        raise build_unrecognized(
            f"couldn't get version/kind; json parse error: {problem}", gvk, body
        )
    if repeated and field_validation == "Strict":
        repeated = [format_yaml_duplicates(repeated)]
    if media == JSON and _loses_keys(body, value):
        repeated = [f'duplicate field "{path}"' for path in kit_json.find_duplicate_keys(body)]
        if not call.resource.is_custom:
            value = kit_json.decode_merged(body)  # into one struct, as Go reads it
    check_type(call, value, gvk, body=body)
    return shape_object(call, value, gvk, field_validation=field_validation, problems=repeated)


def shape_object(
    call: Call,
    value: Object,
    gvk: GVK,
    *,
    field_validation: str,
    problems: Sequence[str] = (),
) -> Object:
    """Normalize an object, and report unknown fields as the field validation requires.

    `problems` were found in the body before, and are reported with them.

    Raises:
        BadRequest: for unknown and duplicate fields if validation is strict.
    """
    check_metadata(value, gvk)
    sent = value.get("metadata")
    is_reset = isinstance(sent, dict) and sent.get("managedFields") == []
    normalized = call.resource.strategy.normalize(value)
    shaped, unknown = normalized.value, normalized.unknown
    if call.verb == "patch":
        unknown = tuple(sorted(unknown))  # Go writes a patched object with sorted members
    if (unknown or problems) and field_validation != "Ignore":
        problems = [*problems, *(f'unknown field "{path}"' for path in unknown)]
        if field_validation == "Strict":
            raise BadRequest(
                f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}: strict'
                f" decoding error: {', '.join(problems)}"
            )
        for problem in problems:
            call.warn(problem)
    metadata = shaped.get("metadata")
    if metadata and "ownerReferences" in metadata:
        _merge_duplicate_owners(call, metadata)
    if metadata and is_reset and not call.resource.is_custom:
        metadata["managedFields"] = []  # resets all owners; Kubernetes drops it in custom objects
    return _order_members(call, shaped)


def _order_members(call: Call, value: Object) -> Object:
    """Put kind and apiVersion first, in the order in which Kubernetes writes them."""
    first, second = ("apiVersion", "kind") if call.resource.is_custom else ("kind", "apiVersion")
    metadata = value.get("metadata") or {}
    if metadata and tuple(value)[:2] == (first, second):
        return value
    return {first: value.get(first), second: value.get(second)} | value | {"metadata": metadata}


class _Metadata(msgspec.Struct):
    """The types of the metadata members the server itself reads."""

    name: str | None = None
    generateName: str | None = None
    namespace: str | None = None
    uid: str | None = None
    resourceVersion: str | None = None
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None
    finalizers: list[str] | None = None
    ownerReferences: list["_Owner"] | None = None
    managedFields: list[dict[str, Any]] | None = None
    generation: int | None = None
    deletionTimestamp: str | None = None
    creationTimestamp: str | None = None


class _Owner(msgspec.Struct):
    apiVersion: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    blockOwnerDeletion: bool | None = None


def check_metadata(value: Object, gvk: GVK) -> None:
    """Check that `metadata` is an object whose members have the right types; drop nulls.

    Raises:
        BadRequest: naming the member.
    """
    metadata = value.get("metadata")
    if metadata is None:
        value["metadata"] = {}
        return
    if is_plain(metadata):
        return
    if isinstance(metadata, dict):
        _fill_null_texts(metadata)
    try:
        msgspec.convert(metadata, _Metadata)
    except msgspec.ValidationError as error:
        raise BadRequest(
            f'{gvk.kind} in version "{gvk.version}" cannot be handled as a {gvk.kind}:'
            f" {_explain_metadata_error(value, gvk)}"
        ) from error
    value["metadata"] = {name: each for name, each in metadata.items() if each is not None}


def _explain_metadata_error(value: Object, gvk: GVK) -> str:
    """Return Go's error for metadata of a wrong type."""
    from quarterdeck.meta import builtins

    whole = builtins.decode(value, gvk).error if builtins.is_builtin(gvk) else None
    found = whole or builtins.decode_type(value["metadata"], _OBJECT_META).error
    return found or "json: cannot unmarshal metadata into Go value of type v1.ObjectMeta"


def _fill_null_texts(metadata: Object) -> None:
    """Replace null labels and annotations by empty strings, as Go decodes them."""
    for name in ("labels", "annotations"):
        texts = metadata.get(name)
        if isinstance(texts, dict) and None in texts.values():
            metadata[name] = {key: "" if each is None else each for key, each in texts.items()}


def _merge_duplicate_owners(call: Call, metadata: Object) -> None:
    """Remove duplicate owner references, and warn of them."""
    owners = metadata.get("ownerReferences")
    if not owners or len(owners) < 2:
        return
    kept: dict[bytes, Object] = {}
    twice = [
        each.get("uid") or ""
        for each in owners
        if kept.setdefault(msgspec.json.encode(each, order="sorted"), each) is not each
    ]
    if twice:
        metadata["ownerReferences"] = list(kept.values())
        call.warn(
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner"
            " references in 1.20+, and may reject such requests as early as 1.24; please fix your"
            f" requests; duplicate UID(s) observed: {', '.join(dict.fromkeys(twice))}"
        )


def find_duplicate_fields(body: bytes, value: Object, field_validation: str) -> list[str]:
    """Find the paths of duplicate keys."""
    if field_validation == "Ignore" or not _loses_keys(body, value):
        return []
    return kit_json.find_duplicate_keys(body)


def _loses_keys(body: bytes, value: Object) -> bool:
    """Whether a body may have duplicate keys, of which decoding keeps only the last.

    Encoding the value again and counting quotes is a cheap test that nothing was lost; only if the
    counts differ is the body scanned for duplicates.
    """
    return kit_json.encode(value).count(b'"') != body.count(b'"')
