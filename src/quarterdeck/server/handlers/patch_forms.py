"""The forms of patches: JSON patch, merge patch, strategic merge, as functions on objects."""

import re
from collections.abc import Callable
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.field import format_go_value
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.server.core import Core
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.type_meta import name_json_type
from quarterdeck.wire import json_patch, merge_patch
from quarterdeck.wire.json_errors import find_syntax_error
from quarterdeck.wire.media import JSON_PATCH, MERGE_PATCH, STRATEGIC_MERGE_PATCH
from quarterdeck.wire.status import ApiError, BadRequest, Details, Invalid, RequestEntityTooLarge

_TYPE_META = ("apiVersion", "kind")
_GO_PATCH = ("jsonpatch.Patch", "jsonpatch.Operation")
_ODD_NUMBER = re.compile(rb"[:\s\[,]-?\d+(?:\.|[eE]|\d{9})")
_OPERATION_TEXTS = ("op", "path", "from")
Patch = Callable[[Object], Object]
"""Takes a copy of the object, which it may change, and returns the patched object."""


def build_rejection() -> Invalid:
    """Build Kubernetes' error for a patch that does not fit the object."""
    return Invalid(
        "the server rejected our request due to an error in our request", details=Details()
    )


def read_patch(core: Core, call: Call, body: bytes, media: str, *, validation: str) -> Patch:
    """Read a JSON patch, a merge patch or a strategic merge patch.

    Raises:
        BadRequest: if the body is not such a patch.
    """
    is_strict = validation != "Ignore" and media != STRATEGIC_MERGE_PATCH
    prefix = "error decoding patch: " if is_strict else ""
    try:
        document = kit_json.decode(body)
    except kit_json.JsonError as error:
        problem = find_syntax_error(body.decode("utf-8", "replace")) or str(error)
        raise BadRequest(f"{prefix}{problem}") from error
    if media == JSON_PATCH:
        return _parse_json_patch(core, document, is_strict=is_strict)
    if not isinstance(document, dict):
        raise BadRequest(
            f"{prefix}json: cannot unmarshal {name_json_type(document)} into Go value of type"
            " map[string]interface {}"
        )
    if media == MERGE_PATCH:
        return MergePatch(document)
    return StrategicPatch(call, document, has_odd_numbers=_ODD_NUMBER.search(body) is not None)


def _drop_nulls_in_lists(patch: Any, target: Any, *, is_inside: bool = False) -> Any:
    """Drop null members of objects inside the lists of a merge patch, as Kubernetes does.

    They are kept in a list that replaces an object.
    """
    if isinstance(patch, list):
        if isinstance(target, dict):
            return patch
        return [_drop_nulls_in_lists(each, None, is_inside=True) for each in patch]
    if isinstance(patch, dict):
        present = target if isinstance(target, dict) else {}
        return {
            name: _drop_nulls_in_lists(each, present.get(name), is_inside=is_inside)
            for name, each in patch.items()
            if each is not None or not is_inside
        }
    return patch


def _parse_json_patch(core: Core, document: Any, *, is_strict: bool) -> Patch:
    limit = core.options.max_patch_operations
    if isinstance(document, list) and len(document) > limit:
        raise RequestEntityTooLarge(
            f"The allowed maximum operations in a JSON patch is {limit}, got {len(document)}"
        )
    _check_json_patch(document, is_strict=is_strict)
    try:
        operations = [each for each in json_patch.parse(document) if not _replaces_by_scalar(each)]
    except json_patch.JsonPatchError as error:
        raise build_rejection() from error

    def apply(value: Object) -> Object:
        try:
            return _check_object(json_patch.apply(value, operations))
        except json_patch.JsonPatchError as error:
            raise build_rejection() from error

    return apply


def _replaces_by_scalar(operation: json_patch.Operation) -> bool:
    """Whether an operation replaces the whole object by a scalar, which Kubernetes ignores."""
    if operation.op is not json_patch.Op.REPLACE or operation.path:
        return False
    return not isinstance(operation.value, dict | list)


def _check_json_patch(document: Any, *, is_strict: bool) -> None:
    """Refuse a document that Go cannot decode as a list of operations.

    With field validation Kubernetes decodes it twice; the errors name the type of the first.
    """
    start = "error decoding patch: json" if is_strict else "json"
    whole, part = ("[]handlers.jsonPatchOp", "handlers.jsonPatchOp") if is_strict else _GO_PATCH
    if not isinstance(document, list):
        kind = name_json_type(document)
        raise BadRequest(f"{start}: cannot unmarshal {kind} into Go value of type {whole}")
    for each in document:
        if each is not None and not isinstance(each, dict):
            kind = name_json_type(each)
            raise BadRequest(f"{start}: cannot unmarshal {kind} into Go value of type {part}")
        for name, text in (each or {}).items() if is_strict else ():
            if name in _OPERATION_TEXTS and text is not None and not isinstance(text, str):
                raise BadRequest(
                    f"{start}: cannot unmarshal {name_json_type(text)} into Go struct field"
                    f" jsonPatchOp.{name} of type string"
                )


class MergePatch:
    """A merge patch."""

    def __init__(self, document: Object) -> None:
        self._document = document
        self.keeps_metadata = "metadata" not in document
        """Whether the patch leaves the metadata of the object unchanged."""

    def __call__(self, value: Object) -> Object:
        """Merge the patch into an object."""
        changes = _drop_nulls_in_lists(self._document, value)
        return _check_object(merge_patch.apply(value, changes))


class StrategicPatch:
    """A strategic merge patch; merging consumes parts of it, and errors show the rest."""

    def __init__(self, call: Call, document: Object, *, has_odd_numbers: bool) -> None:
        self.has_odd_numbers = has_odd_numbers
        """Whether it may have numbers that are no 32-bit integers, which Go converts."""
        self._node = call.resource.node
        # the endpoint implies the kind; a patch cannot change it
        self._type = {name: document[name] for name in _TYPE_META if name in document}
        self._changes = {name: document[name] for name in document if name not in _TYPE_META}
        self._rest: Object = {}

    def __call__(self, value: Object) -> Object:
        """Merge the patch into an object.

        Raises:
            ApiError: if it does not fit.
        """
        from quarterdeck.wire import strategic

        self._rest = copy_value(self._changes)
        try:
            return _check_object(strategic.apply_and_strip(value, self._rest, self._node))
        except strategic.StrategicMergeError as error:
            raise _build_merge_error(error.code, str(error)) from error

    def show(self) -> str:
        """Format what is left of the patch after merging, as errors show it."""
        return format_go_value({**self._rest, **self._type})


def _build_merge_error(code: int, text: str) -> ApiError:
    match code:
        case 400:
            return BadRequest(text)
        case 422:
            return build_rejection()
        case _:
            return ApiError(text, code=500)


def _check_object(value: Any) -> Object:
    if not isinstance(value, dict):
        raise build_rejection()
    return value
