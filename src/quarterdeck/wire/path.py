"""Request paths of the resource API: `/apis/apps/v1/namespaces/shop/deployments/web/scale`.

`parse(build(path)) == path` for every path that names a resource. A namespace object itself lives
at `/api/v1/namespaces/NAME`, so the words after `namespaces` decide by their number.
"""

import functools
import re
from typing import NamedTuple

from quarterdeck.kit.percent import quote
from quarterdeck.meta.identity import GVR, Key

_PLAIN = re.compile(r"[a-zA-Z0-9.:-]*")
"""Names that need no percent-encoding, which nearly all are."""
_NAMESPACE_SUBRESOURCES = frozenset({"status", "finalize"})


class ResourcePath(NamedTuple):
    """The parts of a request path; those that are absent are empty."""

    group: str
    version: str
    resource: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    legacy_watch: bool = False

    @property
    def gvr(self) -> GVR:
        """The resource, without the object."""
        return GVR(self.group, self.version, self.resource)

    @property
    def key(self) -> Key:
        """The object, without the resource."""
        return Key(self.namespace, self.name)


def parse(path: str) -> ResourcePath | None:
    """Read a percent-decoded path; None if it does not name a resource."""
    parts = path.removeprefix("/").split("/")
    if "" in parts:
        parts = [part for part in parts if part]
    if len(parts) > 2 and parts[0] == "apis":
        return _parse_rest(parts[1], parts[2], parts[3:])
    if len(parts) > 1 and parts[0] == "api":
        return _parse_rest("", parts[1], parts[2:])
    return None


def _parse_rest(group: str, version: str, rest: list[str]) -> ResourcePath | None:
    legacy_watch = len(rest) > 1 and rest[0] == "watch"
    if legacy_watch:
        rest = rest[1:]
    namespace = ""
    has_namespace = len(rest) >= 3 and rest[0] == "namespaces"
    if has_namespace and (len(rest) > 3 or rest[2] not in _NAMESPACE_SUBRESOURCES):
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 3:
        return _parse_proxy(group, version, namespace, rest)
    resource, name, subresource = (*rest, "", "")[:3]
    return ResourcePath(group, version, resource, namespace, name, subresource, legacy_watch)


def _parse_proxy(group: str, version: str, namespace: str, rest: list[str]) -> ResourcePath | None:
    """Parse a path with segments after the subresource, which only `proxy` may have.

    `rest` is empty, or has more than three segments.
    """
    if rest and rest[2] == "proxy":
        return ResourcePath(group, version, rest[0], namespace, rest[1], "proxy")
    return None


def build(path: ResourcePath) -> str:
    """Build the request path; names are percent-encoded."""
    text = _build_collection(path.group, path.version, path.namespace, path.resource)
    if path.name:
        text += f"/{_escape(path.name)}"
    if path.subresource:
        text += f"/{path.subresource}"
    return text


@functools.lru_cache(maxsize=256)
def _build_collection(group: str, version: str, namespace: str, resource: str) -> str:
    """Build the path of a collection; cached, because a client uses few of them."""
    within = f"/namespaces/{_escape(namespace)}" if namespace else ""
    return f"{build_prefix(group, version)}{within}/{resource}"


def build_prefix(group: str, version: str) -> str:
    """Build the path prefix of a group version."""
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def _escape(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else quote(name, safe=":@!$&'()*+,;=-._~")
