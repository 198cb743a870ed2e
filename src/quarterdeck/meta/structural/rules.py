"""The rules of Kubernetes for schemas in CustomResourceDefinitions.

The checks are in the order of the API server: that the schema is structural (`shape`), that its
defaults are valid and have no unknown fields (`defaults`), and that every keyword is supported
(`keywords`). Expressions are not checked here; `cel` compiles them.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.meta.structural import defaults, keywords, shape

_AT_ROOT_WITH_STATUS = (
    "Description",
    "Type",
    "Format",
    "Title",
    "Maximum",
    "ExclusiveMaximum",
    "Minimum",
    "ExclusiveMinimum",
    "MaxLength",
    "MinLength",
    "Pattern",
    "MaxItems",
    "MinItems",
    "UniqueItems",
    "MultipleOf",
    "Required",
    "Items",
    "Properties",
    "ExternalDocs",
    "Example",
    "XPreserveUnknownFields",
    "XValidations",
)
_GO_NAMES = {
    "x-kubernetes-preserve-unknown-fields": "XPreserveUnknownFields",
    "x-kubernetes-validations": "XValidations",
}


def check_structure(
    document: Mapping[str, Any],
    path: str = "spec.validation.openAPIV3Schema",
    *,
    has_status: bool = False,
) -> list[FieldError]:
    """Find the errors of the OpenAPI schema at `path` of a definition."""
    errors = _check_root(document, path) if has_status else []
    if document.get("nullable"):
        errors.append(forbidden(f"{path}.nullable", "nullable cannot be true at the root"))
    errors += shape.check_shape(document, path) or defaults.check_defaults(document, path)
    return errors + keywords.check_keywords(document, path)


def _check_root(document: Mapping[str, Any], path: str) -> list[FieldError]:
    for name, value in document.items():
        if value in (None, "", False, [], {}):
            continue
        if name == "type":
            if value != "object":
                text = (
                    'only "object" is allowed as the type at the root of the schema if the status'
                    " subresource is enabled"
                )
                return [invalid(f"{path}.type", value, text)]
        elif _GO_NAMES.get(name, name[0].upper() + name[1:]) not in _AT_ROOT_WITH_STATUS:
            text = (
                f"only [{' '.join(_AT_ROOT_WITH_STATUS)}] fields are allowed at the root of the"
                " schema if the status subresource is enabled"
            )
            return [invalid(path, dict(document), text)]
    return []
