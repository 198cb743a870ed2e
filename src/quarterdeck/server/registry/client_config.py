"""Checks of how a webhook is reached, for admission and conversion alike."""

from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, required

_FORM = "; desired format: https://host[/path]"
_LAST_PORT = 65535
_PORT_RANGE = "must be between 1 and 65535, inclusive"


def validate_client(config: Mapping[str, Any], place: str) -> Iterator[FieldError]:
    """Check how a webhook is reached: by URL or by Service, and by exactly one of them."""
    url, service = config.get("url"), config.get("service")
    if (url is None) == (service is None):
        yield required(place, "exactly one of url or service is required")
    elif url is not None:
        yield from _validate_url(url, f"{place}.url")
    else:
        yield from _validate_service(service or {}, f"{place}.service")


def _validate_url(text: str, path: str) -> Iterator[FieldError]:
    try:
        url = urlsplit(text)
    except ValueError as error:
        yield required(path, f"url must be a valid URL: {error}{_FORM}")
        return
    if url.scheme != "https":
        yield invalid(path, url.scheme, f"'https' is the only allowed URL scheme{_FORM}")
    user, _, host = url.netloc.rpartition("@")
    if not host:
        yield invalid(path, "", f"host must be specified{_FORM}")
    if user:
        yield invalid(path, user, "user information is not permitted in the URL")
    if url.fragment:
        yield invalid(path, url.fragment, "fragments are not permitted in the URL")
    if url.query:
        yield invalid(path, url.query, "query parameters are not permitted in the URL")


def _validate_service(service: Mapping[str, Any], place: str) -> Iterator[FieldError]:
    if not service.get("name"):
        yield required(f"{place}.name", "service name is required")
    if not service.get("namespace"):
        yield required(f"{place}.namespace", "service namespace is required")
    port = service.get("port", 443)
    if not isinstance(port, int) or not 1 <= port <= _LAST_PORT:
        yield invalid(f"{place}.port", port, f"port is not valid: {_PORT_RANGE}")
    yield from _validate_path(service.get("path") or "", f"{place}.path")


def _validate_path(text: str, path: str) -> Iterator[FieldError]:
    if text in ("", "/"):
        return
    if text == "//":
        yield invalid(path, text, "segment[0] may not be empty")
        return
    if not text.startswith("/"):
        yield invalid(path, text, "must start with a '/'")
    for index, segment in enumerate(text[1:].removesuffix("/").split("/")):
        if not segment:
            yield invalid(path, text, f"segment[{index}] may not be empty")
            continue
        for problem in names.check_dns1123_subdomain(segment):
            yield invalid(path, text, f"segment[{index}]: {problem}")
