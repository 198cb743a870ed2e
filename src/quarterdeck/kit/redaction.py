"""Secrets that cannot be printed by accident, and text with secrets taken out."""

import base64
import functools
import re
from typing import Any, Generic, NoReturn, TypeVar

Value = TypeVar("Value")
MASK = "***"
MIN_SECRET = 4
"""Shorter secrets are not searched for in text."""

_NAME = r"(?:password|passwd|token|secret|api[_-]?key)"
"""The end of a name, such as access_token or clientSecret."""
_ASSIGNED = rf"{_NAME}\\*[\"']?\s*[=:]\s*"
"""A name and what separates it from its value; in JSON within JSON its quotes are escaped."""
_PATTERNS = (
    r"(?i)(\b(?:basic|bearer)\s+)[A-Za-z0-9._~+/=:-]+",
    rf"(?i)({_ASSIGNED}\")(?:[^\"\\]|\\.)+",  # a quoted value may have blanks
    rf"(?i)({_ASSIGNED}')(?:[^'\\]|\\.|'')+",
    rf"(?i)({_ASSIGNED}\\+\")(?:[^\"\\]|\\{{2,}}.)+",  # JSON that is quoted as a text
    rf"(?i)({_ASSIGNED}[\"']?)(?!\\+\")[^\s\"',;&}}]+",
    r"(://[^/\s:@]*:)[^@/\s]+(?=@)",
    r"\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+()",
    r"(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"(?:.*?-----END [A-Z ]*PRIVATE KEY-----|[A-Za-z0-9+/=\\\s:,-]*)()",  # the end may be cut off
)


class Secret(Generic[Value]):
    """A value that prints as `***`; only `reveal` returns it."""

    __slots__ = ("_value",)

    def __init__(self, value: Value) -> None:
        self._value = value

    def reveal(self) -> Value:
        """The value itself; call it where the value is used, never to keep it."""
        return self._value

    def __repr__(self) -> str:
        return MASK

    __str__ = __repr__

    def __format__(self, specification: str) -> str:
        return MASK

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._value == other._value

    def __hash__(self) -> int:
        return hash((Secret, self._value))

    def __reduce__(self) -> NoReturn:
        raise TypeError("a Secret cannot be pickled")


def redact(text: str) -> str:
    """Take passwords, tokens, keys and credentials in URLs out of a text."""
    for pattern in _compile_patterns():
        text = pattern.sub(_mask, text)
    return text


class Masker:
    """Takes known secrets out of text from outside, in the forms in which a peer may repeat them.

    Patterns find credentials by the text before them; a peer that repeats a bare password is
    caught only by knowing it.
    """

    __slots__ = ("_forms",)

    def __init__(self, *secrets: Secret[str]) -> None:
        forms = {form for each in secrets for form in _list_forms(each.reveal())}
        self._forms = Secret(sorted(forms, key=len, reverse=True))

    def mask(self, text: str) -> str:
        """Mask the known secrets in a text, and everything that looks like a secret."""
        for form in self._forms.reveal():
            text = text.replace(form, MASK)
        return redact(text)

    def mask_bytes(self, data: bytes) -> bytes:
        """Mask the known secrets in a response body; nothing else is masked.

        JSON with escapes is rewritten without unnecessary ones, because any character of a secret
        could be escaped.
        """
        data = _unescape(data) if b"\\" in data else data
        for form in self._forms.reveal():
            data = data.replace(form.encode(), MASK.encode())
        return data

    def is_clean(self, text: str) -> bool:
        """Whether a text repeats none of the known secrets."""
        return not any(form in text for form in self._forms.reveal())


def _unescape(data: bytes) -> bytes:
    """Rewrite JSON with as few escapes as possible; other text is returned as it is."""
    import json  # loaded only for errors

    try:
        text = json.dumps(json.loads(data), ensure_ascii=False, separators=(",", ":"))
    except ValueError:
        return data
    except RecursionError:  # a peer with a deeper limit could still decode the secret
        return json.dumps(MASK).encode()
    return text.encode("utf-8", "replace")


def build_masker(authorization: str) -> Masker:
    """Build a masker of the credentials in an Authorization header: the token or the password."""
    scheme, _, credential = authorization.partition(" ")
    secrets = [Secret(credential.strip())]
    if scheme.lower() == "basic":
        try:
            pair = base64.b64decode(credential.strip(), validate=True).decode()
        except ValueError:
            return Masker(*secrets)
        secrets += [Secret(pair), Secret(pair.partition(":")[2])]
    return Masker(*secrets)


def _list_forms(secret: str) -> list[str]:
    """A secret as it is, in base64, in hexadecimal, quoted for URLs and for JSON."""
    if len(secret) < MIN_SECRET:
        return []
    import json
    from urllib.parse import quote, quote_plus

    encoded = base64.b64encode(secret.encode())
    forms = [
        secret,
        encoded.decode().rstrip("="),
        encoded.translate(bytes.maketrans(b"+/", b"-_")).decode().rstrip("="),
        quote(secret, safe=""),
        quote_plus(secret),
        json.dumps(secret)[1:-1],
        secret.encode().hex(),
    ]
    return [form for form in forms if len(form) >= MIN_SECRET]


@functools.cache
def _compile_patterns() -> list[re.Pattern[str]]:
    """Compile the patterns on first use: it takes a millisecond, and most commands need none."""
    return [re.compile(pattern) for pattern in _PATTERNS]


def _mask(match: re.Match[str]) -> str:
    return f"{match[1]}{MASK}"


def redact_members(value: Any, names: frozenset[str]) -> Any:
    """A copy of a document in which members of these names are masked, at any depth."""
    if isinstance(value, dict):
        return {
            key: MASK if key in names else redact_members(member, names)
            for key, member in value.items()
        }
    if isinstance(value, list):
        return [redact_members(member, names) for member in value]
    return value
