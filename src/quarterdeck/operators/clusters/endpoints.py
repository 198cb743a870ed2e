"""Checks addresses that users give before anything is sent to them. Pure."""

from collections.abc import Sequence

from quarterdeck.kit.http.origin import parse_origin, split_url
from quarterdeck.kit.redaction import MASK


def find_endpoint_problem(url: str) -> str:
    """What is wrong with `spec.endpoint`; empty if it can be used.

    A URL with a password is not repeated: the message is shown in status, events and logs.
    """
    if "@" in url.partition("://")[2].partition("/")[0]:
        return "spec.endpoint contains a user name or password; put them into the Secret instead"
    advice = "write https://HOST:PORT"
    if not url.startswith(("https://", "http://")):
        return f"spec.endpoint {url!r} is not a URL; {advice}"
    if any(each.isspace() or not each.isprintable() for each in url):
        return f"spec.endpoint {url!r} contains a space or a control character; {advice}"
    if "?" in url or "#" in url:  # not repeated, because a query may have a token
        return f"spec.endpoint contains a query or a fragment; {advice}"
    try:
        parse_origin(url)
    except ValueError as error:
        return f"spec.endpoint {url!r} is not valid: {error}; {advice}"
    return ""


def hide_credentials(url: str) -> str:
    """An endpoint as viewers of the hub may see it: without user name, password and query."""
    scheme, separator, rest = url.rpartition("://")
    rest = rest.partition("?")[0].partition("#")[0]
    authority, slash, path = rest.partition("/")
    user, at, host = authority.rpartition("@")
    return f"{scheme}{separator}{MASK if user else ''}{at}{host}{slash}{path}"


def find_path_problem(paths: Sequence[str]) -> str:
    """What is wrong with `spec.healthCheckPaths`; empty if all of them are on the registry."""
    for number, path in enumerate(paths):
        if "://" in path or path.startswith("//"):
            return (
                f"spec.healthCheckPaths[{number}] {path!r} is a URL; "
                "write a path on the registry, such as /v2/"
            )
        try:
            split_url(f"http://registry/{path}")
        except ValueError:
            return (
                f"spec.healthCheckPaths[{number}] {path!r} has characters that must be "
                "percent-escaped"
            )
    return ""
