"""What a webhook's patch does to an object."""

import copy
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.meta.identity import GVK
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.admission.patched_object import finish_patch, shape_object
from quarterdeck.server.admission.request import convert_for_review
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.wire import json_patch
from quarterdeck.wire.json_errors import find_syntax_error
from quarterdeck.wire.json_patch import Op
from quarterdeck.wire.status import InternalError

_MAX_OPERATIONS = 10_000
_MAX_BYTES = 8 * 1024 * 1024
"""Limit of a patched object; a larger one could not be stored."""


def apply_patch(
    attributes: AdmissionAttributes, patch: bytes, seen_as: Resource, *, registry: Registry
) -> Object:
    """Apply the patch of a webhook, then normalize and default the object.

    Raises:
        ApiError: if the patch cannot be applied, or the result does not fit the kind.
    """
    value = convert_for_review(attributes, copy.deepcopy(attributes.value), seen_as)
    assert value is not None  # deletions have no object, and are not patched
    patched = _patch(value, patch)
    if not isinstance(patched, dict):
        raise InternalError.of("the patch does not leave an object")
    if attributes.view is None:
        _check_kind(patched, seen_as, registry)
    return finish_patch(attributes, patched, seen_as)


def _patch(value: Object, patch: bytes) -> Any:
    """Apply a JSON patch to a document; errors have the words of Kubernetes' patch library."""
    try:
        document = kit_json.decode(patch)
    except ValueError as error:
        problem = find_syntax_error(patch.decode(errors="replace")) or str(error)
        raise InternalError.of(problem) from error
    try:
        operations = json_patch.parse(document)
    except ValueError as error:
        raise InternalError.of(str(error)) from error
    if len(operations) > _MAX_OPERATIONS:
        raise InternalError.of(
            f"the patch has {len(operations)} operations; at most {_MAX_OPERATIONS} are allowed"
        )
    try:
        patched = json_patch.apply(value, operations)
    except json_patch.JsonPatchError as error:
        raise InternalError.of(_describe(error, operations)) from error
    size = len(kit_json.encode(patched))
    if size > _MAX_BYTES:
        raise InternalError.of(
            f"the patch makes the object {size} bytes long; at most {_MAX_BYTES} are allowed"
        )
    return patched


def _describe(error: json_patch.JsonPatchError, operations: list[json_patch.Operation]) -> str:
    if not 0 <= error.index < len(operations):
        return str(error)
    operation = operations[error.index]
    op, path = operation.op, operation.path
    if op is Op.TEST:
        return f"testing value {path} failed: test failed"
    last = path.rpartition("/")[2].replace("~1", "/").replace("~0", "~")
    what = "key" if error.problem.endswith(f"no {last!r}") else "path"
    match op:
        case Op.REPLACE:
            return f"replace operation does not apply: doc is missing {what}: {path}: missing value"
        case Op.ADD:
            return f'add operation does not apply: doc is missing path: "{path}": missing value'
        case Op.REMOVE if what == "key":
            return (
                f"error in remove for path: '{path}': Unable to remove nonexistent key: {last}:"
                " missing value"
            )
        case Op.REMOVE:
            return f'remove operation does not apply: doc is missing path: "{path}": missing value'
    return str(error)


def _check_kind(patched: Object, seen_as: Resource, registry: Registry) -> None:
    """Refuse a patch that changes kind or apiVersion; errors of the new kind come first."""
    api_version, kind = str(patched.get("apiVersion")), str(patched.get("kind"))
    if (api_version, kind) == (seen_as.api_version, seen_as.kind):
        return
    group, _, version = api_version.rpartition("/")
    other = registry.find_by_kind(GVK(group, version, kind))
    if other is not None:
        shape_object(copy.deepcopy(patched), other)
    raise InternalError.of(
        f"the patch changes the object from {seen_as.api_version}, Kind={seen_as.kind} to"
        f" {api_version}, Kind={kind}; a webhook may not change the kind of an object"
    )
