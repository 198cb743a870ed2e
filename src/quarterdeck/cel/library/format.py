"""Named formats: `format.dns1123Label().validate(name)`."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_date, parse_timestamp
from quarterdeck.cel.operations.classes import no_overload_error
from quarterdeck.cel.values import NONE, Optional, make_optional
from quarterdeck.meta import names

_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


class NamedFormat:
    """A named format; `problems` returns the errors of a text."""

    __slots__ = ("name", "problems", "regex_size")
    cel_type: ClassVar[types.Type] = types.NAMED_FORMAT

    def __init__(self, name: str, problems: Callable[[str], list[str]], regex_size: int) -> None:
        self.name = name
        self.problems = problems
        self.regex_size = regex_size

    def __str__(self) -> str:
        return self.name


def _check_name(kind: names.NameKind, *, is_prefix: bool = False) -> Callable[[str], list[str]]:
    return lambda text: names.check_object_name(kind, text, is_prefix=is_prefix)


def _build_check(check: Callable[[str], object], message: str) -> Callable[[str], list[str]]:
    def problems(text: str) -> list[str]:
        try:
            return [] if check(text) is not None else [message]
        except (EvaluationError, ValueError, binascii.Error):
            return [message]

    return problems


def _check_uri(text: str) -> list[str]:
    from quarterdeck.cel.library.url import FUNCTIONS as URL

    valid = URL["isURL"][str](text)
    return [] if valid else [f'parse "{text}": invalid URI for request']


FORMATS: Mapping[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", _check_name("label"), 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _check_name("subdomain"), 60),
    "dns1035Label": NamedFormat("DNS1035Label", _check_name("label1035"), 30),
    "qualifiedName": NamedFormat("QualifiedName", names.check_qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat(
        "DNS1123LabelPrefix", _check_name("label", is_prefix=True), 30
    ),
    "dns1123SubdomainPrefix": NamedFormat(
        "DNS1123SubdomainPrefix", _check_name("subdomain", is_prefix=True), 60
    ),
    "dns1035LabelPrefix": NamedFormat(
        "DNS1035LabelPrefix", _check_name("label1035", is_prefix=True), 30
    ),
    "labelValue": NamedFormat("LabelValue", names.check_label_value, 40),
    "uri": NamedFormat("URI", _check_uri, 100),
    "uuid": NamedFormat(
        "uuid", _build_check(_UUID.fullmatch, "does not match the UUID format"), 84
    ),
    "byte": NamedFormat(
        "byte",
        _build_check(lambda text: base64.b64decode(text, validate=True), "invalid base64"),
        84,
    ),
    "date": NamedFormat("date", _build_check(parse_date, "invalid date"), 85),
    "datetime": NamedFormat("datetime", _build_check(parse_timestamp, "invalid datetime"), 85),
}

DECLARATIONS = "\n".join(
    [
        "format.named format_named (string) optional_type(NamedFormat)",
        "validate format_validate NamedFormat.(string) optional_type(list(string))",
        *(f"format.{name} format.{name} () NamedFormat" for name in FORMATS),
    ]
)


def _find_format(name: str) -> Optional:
    found = FORMATS.get(name)
    return make_optional(found) if found is not None else NONE


def _validate(format_: NamedFormat, text: Any) -> Optional:
    if type(text) is not str:
        raise no_overload_error()
    problems = format_.problems(text)
    return make_optional(problems) if problems else NONE


def _build_constant(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "format.named": {str: _find_format},
    "validate": {NamedFormat: _validate},
    **{
        f"format.{name}": {type(None): _build_constant(format_)}
        for name, format_ in FORMATS.items()
    },
}
