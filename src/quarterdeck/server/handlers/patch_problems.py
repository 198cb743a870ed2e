"""Fields of a patch document that came twice or mean nothing, in the words of field validation."""

from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.server.request.decoder import find_duplicate_fields
from quarterdeck.wire.media import JSON_PATCH

_OPERATION_FIELDS = frozenset({"op", "path", "from", "value"})


def find_patch_problems(body: bytes, media: str, validation: str) -> list[str]:
    """Find the errors of field validation in the patch itself, not in the patched object."""
    if validation == "Ignore":
        return []
    document = kit_json.decode(body)
    duplicates = [
        f'duplicate field "{path}"' for path in find_duplicate_fields(body, document, validation)
    ]
    if media != JSON_PATCH:
        return duplicates
    return [f"json patch {each}" for each in (*_find_unknown_fields(document), *duplicates)]


def _find_unknown_fields(operations: list[Any]) -> list[str]:
    return [
        f'unknown field "[{index}].{name}"'
        for index, operation in enumerate(operations)
        for name in operation or ()
        if name not in _OPERATION_FIELDS
    ]
