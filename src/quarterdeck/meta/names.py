"""What names, labels and annotations may look like, with Kubernetes' words when they do not.

Each function returns the problems as texts, none if the value is fine: the caller knows the field.
"""

import re

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = rf"{_LABEL}(\.{_LABEL})*"
_LABEL_1035 = r"[a-z]([-a-z0-9]*[a-z0-9])?"
_QUALIFIED = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_VALUE = rf"({_QUALIFIED})?"

_LABEL_RE = re.compile(_LABEL)
_SUBDOMAIN_RE = re.compile(_SUBDOMAIN)
_LABEL_1035_RE = re.compile(_LABEL_1035)
_QUALIFIED_RE = re.compile(_QUALIFIED)

LABEL_MAX = 63
SUBDOMAIN_MAX = 253

_LABEL_TEXT = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', "
    "and must start and end with an alphanumeric character"
)
_SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character"
)
_LABEL_1035_TEXT = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character"
)
_QUALIFIED_TEXT = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character"
)
_LABEL_VALUE_TEXT = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or "
    "'.', and must start and end with an alphanumeric character"
)


def label_problems(text: str) -> list[str]:
    """A DNS-1123 label, such as a namespace's name."""
    return _checked(
        text, LABEL_MAX, _LABEL_RE, _regex_text(_LABEL_TEXT, _LABEL, "my-name", "123-abc")
    )


def subdomain_problems(text: str) -> list[str]:
    """A DNS-1123 subdomain, the usual form of an object's name."""
    return _checked(
        text, SUBDOMAIN_MAX, _SUBDOMAIN_RE, _regex_text(_SUBDOMAIN_TEXT, _SUBDOMAIN, "example.com")
    )


def label_1035_problems(text: str) -> list[str]:
    """A DNS-1035 label, such as a service's name."""
    return _checked(
        text,
        LABEL_MAX,
        _LABEL_1035_RE,
        _regex_text(_LABEL_1035_TEXT, _LABEL_1035, "my-name", "abc-123"),
    )


def path_segment_problems(text: str) -> list[str]:
    """A name that only has to fit into a path, such as a role's."""
    if text in (".", ".."):
        return [f"may not be '{text}'"]
    return [f"may not contain '{each}'" for each in ("/", "%") if each in text]


def label_key_problems(text: str) -> list[str]:
    """A qualified name: an optional DNS subdomain, a slash, and a name."""
    prefix, slash, name = text.rpartition("/")
    if "/" in prefix:
        return [
            "a qualified name "
            + _regex_text(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
            + " with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
        ]
    problems = []
    if slash:
        if not prefix:
            problems.append("prefix part must be non-empty")
        else:
            problems.extend(f"prefix part {each}" for each in subdomain_problems(prefix))
    if not name:
        problems.append("name part must be non-empty")
    elif len(name) > LABEL_MAX:
        problems.append(f"name part {_too_long(LABEL_MAX)}")
    if not _QUALIFIED_RE.fullmatch(name):
        problems.append(
            "name part " + _regex_text(_QUALIFIED_TEXT, _QUALIFIED, "MyName", "my.name", "123-abc")
        )
    return problems


def label_value_problems(text: str) -> list[str]:
    """The value of a label; it may be empty."""
    problems = []
    if len(text) > LABEL_MAX:
        problems.append(_too_long(LABEL_MAX))
    if text and not _QUALIFIED_RE.fullmatch(text):
        problems.append(
            _regex_text(_LABEL_VALUE_TEXT, _LABEL_VALUE, "MyValue", "my_value", "12345")
        )
    return problems


def _checked(text: str, limit: int, pattern: re.Pattern[str], complaint: str) -> list[str]:
    problems = []
    if len(text) > limit:
        problems.append(_too_long(limit))
    if not pattern.fullmatch(text):
        problems.append(complaint)
    return problems


def _too_long(limit: int) -> str:
    return f"must be no more than {limit} bytes"


def _regex_text(message: str, pattern: str, *examples: str) -> str:
    """Kubernetes' own sentence, down to its two spaces before `or`."""
    shown = " or ".join(f"'{each}', " for each in examples).removesuffix(", ")
    return f"{message} (e.g. {shown}, regex used for validation is '{pattern}')"
