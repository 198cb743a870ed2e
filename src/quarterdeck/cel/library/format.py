"""Named formats: `format.dns1123Label().validate(name)`."""

import base64
import binascii
import re
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from quarterdeck.cel import types
from quarterdeck.cel.errors import EvaluationError
from quarterdeck.cel.library.time import parse_date, parse_timestamp
from quarterdeck.cel.operations import no_overload
from quarterdeck.cel.values import NONE, Optional, some

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_WORDS = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character"
)
_SUBDOMAIN_WORDS = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_LABEL_1035_WORDS = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_VALUE_WORDS = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)
_NAME_WORDS = (
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end "
    "with an alphanumeric character"
)
_UUID = re.compile(r"(?i)[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}")


class NamedFormat:
    """A format with a name; `problems` says what is wrong with a text."""

    __slots__ = ("name", "problems", "regex_size")
    cel_type: ClassVar[types.Type] = types.NAMED_FORMAT

    def __init__(self, name: str, problems: Callable[[str], list[str]], regex_size: int) -> None:
        self.name = name
        self.problems = problems
        self.regex_size = regex_size

    def __str__(self) -> str:
        return self.name


def _shaped(pattern: str, words: str, limit: int, examples: str) -> Callable[[str], list[str]]:
    compiled = re.compile(pattern)

    def problems(text: str) -> list[str]:
        found = [f"must be no more than {limit} characters"] if len(text) > limit else []
        if compiled.fullmatch(text) is None:
            found.append(f"{words} ({examples}, regex used for validation is '{pattern}')")
        return found

    return problems


def _prefix(check: Callable[[str], list[str]]) -> Callable[[str], list[str]]:
    """The check for a prefix something will be appended to."""
    return lambda text: check(text[:-1] + "a" if len(text) > 1 and text.endswith("-") else text)


def _qualified_name(text: str) -> list[str]:
    prefix, slash, name = text.rpartition("/")
    found: list[str] = []
    if text.count("/") > 1:
        return [f"a qualified name {_NAME_WORDS.removeprefix('name part ')} with an optional DNS "
                "subdomain prefix and '/' (e.g. 'example.com/MyName')"]  # fmt: skip
    if slash:
        if not prefix:
            found.append("prefix part must be non-empty")
        else:
            found += [f"prefix part {problem}" for problem in _dns_subdomain(prefix)]
    if not name:
        found.append("name part must be non-empty")
    elif len(name) > 63:
        found.append("name part must be no more than 63 characters")
    if not re.fullmatch(_NAME, name):
        found.append(
            f"{_NAME_WORDS} (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for "
            f"validation is '{_NAME}')"
        )
    return found


def _is(check: Callable[[str], object], complaint: str) -> Callable[[str], list[str]]:
    def problems(text: str) -> list[str]:
        try:
            return [] if check(text) is not None else [complaint]
        except (EvaluationError, ValueError, binascii.Error):
            return [complaint]

    return problems


def _uri(text: str) -> list[str]:
    from quarterdeck.cel.library.url import FUNCTIONS as URL

    valid = URL["isURL"][str](text)
    return [] if valid else [f'parse "{text}": invalid URI for request']


_dns_label = _shaped(_LABEL, _LABEL_WORDS, 63, "e.g. 'my-name',  or '123-abc'")
_dns_subdomain = _shaped(_SUBDOMAIN, _SUBDOMAIN_WORDS, 253, "e.g. 'example.com'")
_dns_1035 = _shaped(_LABEL_1035, _LABEL_1035_WORDS, 63, "e.g. 'my-name',  or 'abc-123'")
_label_value = _shaped(
    rf"({_NAME})?", _VALUE_WORDS, 63, "e.g. 'MyValue',  or 'my_value',  or '12345'"
)

FORMATS: Mapping[str, NamedFormat] = {
    "dns1123Label": NamedFormat("DNS1123Label", _dns_label, 30),
    "dns1123Subdomain": NamedFormat("DNS1123Subdomain", _dns_subdomain, 60),
    "dns1035Label": NamedFormat("DNS1035Label", _dns_1035, 30),
    "qualifiedName": NamedFormat("QualifiedName", _qualified_name, 60),
    "dns1123LabelPrefix": NamedFormat("DNS1123LabelPrefix", _prefix(_dns_label), 30),
    "dns1123SubdomainPrefix": NamedFormat("DNS1123SubdomainPrefix", _prefix(_dns_subdomain), 60),
    "dns1035LabelPrefix": NamedFormat("DNS1035LabelPrefix", _prefix(_dns_1035), 30),
    "labelValue": NamedFormat("LabelValue", _label_value, 40),
    "uri": NamedFormat("URI", _uri, 100),
    "uuid": NamedFormat("uuid", _is(_UUID.fullmatch, "does not match the UUID format"), 84),
    "byte": NamedFormat(
        "byte", _is(lambda text: base64.b64decode(text, validate=True), "invalid base64"), 84
    ),
    "date": NamedFormat("date", _is(parse_date, "invalid date"), 85),
    "datetime": NamedFormat("datetime", _is(parse_timestamp, "invalid datetime"), 85),
}

DECLARATIONS = "\n".join(
    [
        "format.named format_named (string) optional_type(NamedFormat)",
        "validate format_validate NamedFormat.(string) optional_type(list(string))",
        *(f"format.{name} format.{name} () NamedFormat" for name in FORMATS),
    ]
)


def _named(name: str) -> Optional:
    found = FORMATS.get(name)
    return some(found) if found is not None else NONE


def _validate(format_: NamedFormat, text: Any) -> Optional:
    if type(text) is not str:
        raise no_overload()
    problems = format_.problems(text)
    return some(problems) if problems else NONE


def _constant(format_: NamedFormat) -> Callable[[], NamedFormat]:
    return lambda: format_


FUNCTIONS: Mapping[str, Mapping[type, Callable[..., Any]]] = {
    "format.named": {str: _named},
    "validate": {NamedFormat: _validate},
    **{f"format.{name}": {type(None): _constant(format_)} for name, format_ in FORMATS.items()},
}
