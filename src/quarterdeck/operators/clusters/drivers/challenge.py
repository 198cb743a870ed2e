"""The WWW-Authenticate header of registries: `Bearer realm="…",service="…",scope="…"`. Pure."""

import re
from urllib.parse import urlencode, urlsplit

import msgspec

_PARAMETER = re.compile(r'([a-zA-Z_]+)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,]+))')


class Challenge(msgspec.Struct, frozen=True):
    """A parsed challenge: Basic, or Bearer with the address of the token server."""

    scheme: str
    """The authentication scheme in lower case: `basic`, `bearer` or another one."""
    realm: str = ""
    service: str = ""
    scope: str = ""

    def build_token_url(self, scope: str = "") -> str:
        """The URL to request a token from, with the service and the scope as parameters."""
        wanted = {"service": self.service, "scope": scope or self.scope}
        query = urlencode({name: value for name, value in wanted.items() if value})
        joint = "&" if urlsplit(self.realm).query else "?"
        return f"{self.realm}{joint}{query}" if query else self.realm


def parse_challenge(header: str) -> Challenge | None:
    """Read a header; None if there is none."""
    scheme, _, rest = header.strip().partition(" ")
    if not scheme:
        return None
    found = {
        match[1].lower(): re.sub(r"\\(.)", r"\1", match[2]) if match[2] is not None else match[3]
        for match in _PARAMETER.finditer(rest)
    }
    return Challenge(
        scheme.lower(),
        found.get("realm", ""),
        found.get("service", ""),
        found.get("scope", ""),
    )


def parse_next_page(link: str) -> str:
    """The target of a Link header with rel=next; empty if there is none."""
    for part in link.split(","):
        match = re.match(r"\s*<([^>]*)>(.*)", part)
        if match is not None and re.search(r'rel\s*=\s*"?next"?', match[2]):
            return match[1]
    return ""
