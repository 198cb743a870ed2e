"""How large the defaults of a schema may be, filled in with the defaults below them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta.field import Bare, FieldError, invalid
from quarterdeck.meta.schema import from_openapi
from quarterdeck.meta.structural.admit import DefaultsTooLarge, Task, compile_walk


def validate_default_size(versions: Sequence[Mapping[str, Any]]) -> Iterator[FieldError]:
    """Find the versions whose defaults grow over the size of an object; the schemas are valid."""
    for index, version in enumerate(versions):
        schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        try:
            compile_walk(from_openapi(schema), Task.DEFAULT, is_root=True)
        except DefaultsTooLarge as error:
            path = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield invalid(path, Bare("schema"), str(error))
