"""Validates names, labels and annotations: each function returns the errors of a text.

The messages are those of Kubernetes, word for word, because users search for them. An empty list
means that the text is valid; the caller adds the field.
"""

import re
from collections.abc import Callable
from typing import Literal

from quarterdeck.meta.release import has_feature

Rule = Callable[[str], list[str]]

LABEL_LIMIT = 63
SUBDOMAIN_LIMIT = 253

_LABEL = "[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN = rf"{_UNDERSCORE_LABEL}(\.{_UNDERSCORE_LABEL})*"
_WILDCARD = rf"\*\.{_SUBDOMAIN}"
_LABEL_1035 = "[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = "([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = f"({_QUALIFIED})?"

_label_matches = re.compile(_LABEL).fullmatch
_subdomain_matches = re.compile(_SUBDOMAIN).fullmatch
_underscore_matches = re.compile(_UNDERSCORE_SUBDOMAIN).fullmatch
_wildcard_matches = re.compile(_WILDCARD).fullmatch
_label_1035_matches = re.compile(_LABEL_1035).fullmatch
_qualified_matches = re.compile(_QUALIFIED).fullmatch
_label_value_matches = re.compile(_LABEL_VALUE).fullmatch

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and"
    " must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or"
    " '.', and must start and end with an alphanumeric character"
)
_WILDCARD_TEXT = (
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, which"
    " must consist of lower case alphanumeric characters, '-' or '.' and end with an alphanumeric"
    " character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an"
    " alphabetic character, and end with an alphanumeric character"
)
_QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an"
    " alphanumeric character"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or"
    " '.', and must start and end with an alphanumeric character"
)


def check_dns1123_label(text: str) -> list[str]:
    """Check a DNS label: names of namespaces, and others that become part of host names."""
    if len(text) <= LABEL_LIMIT and _label_matches(text):
        return []
    problems = _check_length(text, LABEL_LIMIT)
    if not _label_matches(text):
        if _subdomain_matches(text):
            problems.append("must not contain dots")
        else:
            problems.append(_with_regex(_LABEL_TEXT, _LABEL, "my-name", "123-abc"))
    return problems


def check_dns1123_subdomain(text: str) -> list[str]:
    """Check a DNS subdomain: the names of most objects."""
    if len(text) <= SUBDOMAIN_LIMIT and _subdomain_matches(text):
        return []
    problems = _check_length(text, SUBDOMAIN_LIMIT)
    if not _subdomain_matches(text):
        problems.append(_with_regex(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com"))
    return problems


def check_underscore_subdomain(text: str) -> list[str]:
    """Check a DNS search domain, which may have underscores."""
    problems = _check_length(text, SUBDOMAIN_LIMIT)
    if not _underscore_matches(text):
        sentence = _SUBDOMAIN_TEXT.replace("'-' or", "'_', '-' or")
        problems.append(_with_regex(sentence, _UNDERSCORE_SUBDOMAIN, "example.com"))
    return problems


def check_wildcard_subdomain(text: str) -> list[str]:
    """Check a wildcard host name of an Ingress: `*.example.com`."""
    problems = _check_length(text, SUBDOMAIN_LIMIT)
    if not _wildcard_matches(text):
        problems.append(_with_regex(_WILDCARD_TEXT, _WILDCARD, "*.example.com"))
    return problems


def check_dns1035_label(text: str) -> list[str]:
    """Check a DNS label that starts with a letter: the names of Services."""
    problems = _check_length(text, LABEL_LIMIT)
    if not _label_1035_matches(text):
        problems.append(_with_regex(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"))
    return problems


def check_path_segment(text: str) -> list[str]:
    """Check a name that may be any segment of a URL path, such as that of a role."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in text]


def check_qualified_name(text: str) -> list[str]:
    """Check a key of a label or annotation, or a finalizer: `name` or `example.com/name`."""
    if len(text) <= LABEL_LIMIT and _qualified_matches(text):
        return []
    prefix, slash, name = text.partition("/")
    if "/" in name:
        what = "a valid label key" if has_feature("NewerMessages") else "a qualified name"
        sentence = _with_regex(
            f"{what} {_QUALIFIED_TEXT}", _QUALIFIED, "MyName", "my.name", "123-abc"
        )
        return [
            f"{sentence} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems: list[str] = []
    if not slash:
        name = prefix
    elif not prefix:
        problems.append("prefix part must be non-empty")
    else:
        found = map(_count_bytes, check_dns1123_subdomain(prefix))
        problems += [f"prefix part {problem}" for problem in found]
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > LABEL_LIMIT:
        problems.append(f"name part {_count_bytes(_check_length(name, LABEL_LIMIT)[0])}")
    if not _qualified_matches(name):
        text = _with_regex(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        problems.append(f"name part {text}")
    return problems


def check_label_value(text: str) -> list[str]:
    """Check the value of a label."""
    if len(text) <= LABEL_LIMIT and _label_value_matches(text):
        return []
    problems = [*map(_count_bytes, _check_length(text, LABEL_LIMIT))]
    if not _label_value_matches(text):
        problems.append(
            _with_regex(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345")
        )
    return problems


def strip_zeros(text: str) -> str:
    """Remove leading zeros from the numbers of an IPv4 address or range."""
    return re.sub(r"(?<![\d:a-fA-F])0+(?=\d)", "", text) if ":" not in text else text


def check_address(text: str) -> list[str]:
    """Check a name that must be an IP address in its canonical form."""
    import ipaddress  # one kind has such names

    plain = strip_zeros(text)
    try:
        address = ipaddress.ip_address(plain)
    except ValueError:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    if plain != text:
        return ["must not have leading 0s"]
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped:
        return ["must not be an IPv4-mapped IPv6 address"]
    return [] if text == str(address) else [f'must be in canonical form ("{address}")']


NameKind = Literal["label", "subdomain", "label1035", "path", "address"]

_RULES: dict[NameKind, Rule] = {
    "label": check_dns1123_label,
    "subdomain": check_dns1123_subdomain,
    "label1035": check_dns1035_label,
    "path": check_path_segment,
    "address": check_address,
}


def check_object_name(kind: NameKind, name: str, *, is_prefix: bool) -> list[str]:
    """Check the name of an object; a `generateName` (`is_prefix`) may end with a dash."""
    if is_prefix and kind != "path" and len(name) > 1 and name.endswith("-"):
        name = name[:-2] + "a"
    return _RULES[kind](name)


def _check_length(text: str, limit: int) -> list[str]:
    """Check the length in bytes; the message of Kubernetes says characters."""
    if len(text) > limit or len(text.encode("utf-8", "replace")) > limit:
        return [f"must be no more than {limit} characters"]
    return []


def _count_bytes(problem: str) -> str:
    """Replace characters by bytes in the message about a length, as newer releases do."""
    if problem.startswith("must be no more") and has_feature("NewerMessages"):
        return problem.replace("characters", "bytes")
    return problem


def _with_regex(sentence: str, pattern: str, *examples: str) -> str:
    shown = "',  or '".join(examples)
    return f"{sentence} (e.g. '{shown}', regex used for validation is '{pattern}')"
