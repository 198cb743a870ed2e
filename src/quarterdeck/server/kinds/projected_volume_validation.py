"""Volumes whose files are projected into the pod: keys, fields of the pod, and tokens."""

from collections.abc import Iterator
from typing import Any

from quarterdeck.meta.field import FieldError, forbidden, invalid, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.environment_validation import validate_field, validate_resource
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

_LARGEST_MODE = 0o777
_MODE_TEXT = "must be a number between 0 and 0777 (octal), both inclusive"
_SHORTEST_TOKEN_S = 600
_LONGEST_TOKEN_S = 1 << 32
_SOURCES = ("secret", "configMap", "downwardAPI", "serviceAccountToken", "clusterTrustBundle")
_FIELDS = (
    *("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace"),
    "metadata.uid",
)
"""Fields of a pod that can be read from a file."""


def validate_mode(mode: Any, path: str) -> Iterator[FieldError]:
    """Check the mode of a file."""
    if mode is not None and not 0 <= mode <= _LARGEST_MODE:
        yield invalid(path, mode, _MODE_TEXT)


def validate_key_file(item: Object, path: str) -> Iterator[FieldError]:
    """Check a key that becomes a file."""
    for member in ("key", "path"):
        if not item.get(member):
            yield required(f"{path}.{member}")
    yield from _validate_file_path(item.get("path") or "", f"{path}.path")
    yield from validate_mode(item.get("mode"), f"{path}.mode")


def validate_pod_file(item: Object, path: str) -> Iterator[FieldError]:
    """Check a field of the pod that becomes a file; Kubernetes does not show which one it is."""
    if not item.get("path"):
        yield required(f"{path}.path")
    yield from _validate_file_path(item.get("path") or "", f"{path}.path")
    field, resource = item.get("fieldRef"), item.get("resourceFieldRef")
    if field is not None:
        yield from validate_field(field, f"{path}.fieldRef", _FIELDS)
        if resource is not None:
            text = "fieldRef and resourceFieldRef can not be specified simultaneously"
            yield invalid(path, "resource", text)
    elif resource is not None:
        if not resource.get("containerName"):
            yield required(f"{path}.resourceFieldRef.containerName")
        else:
            yield from validate_resource(resource, f"{path}.resourceFieldRef")
    else:
        yield required(path, "one of fieldRef and resourceFieldRef is required")
    yield from validate_mode(item.get("mode"), f"{path}.mode")


def _validate_file_path(text: str, path: str) -> Iterator[FieldError]:
    yield from validators.validate_descending_path(path, text)
    if text.startswith("..") and text.split("/")[0] != "..":
        yield invalid(path, text, "must not start with '..'")


def validate_projection(volume: Object, path: str) -> Iterator[FieldError]:
    """Check the sources of a projected volume."""
    yield from validate_mode(volume.get("defaultMode"), f"{path}.defaultMode")
    files: set[str] = set()
    for index, source in enumerate(get_items(volume, "sources")):
        place = f"{path}.sources[{index}]"
        given = [member for member in _SOURCES if source.get(member) is not None]
        for member in given:
            match member:
                case "secret" | "configMap":
                    yield from _validate_keys(source[member], f"{place}.{member}")
                case "downwardAPI":
                    for item in get_items(source[member], "items"):
                        yield from validate_pod_file(item, f"{place}.{member}")
                case "serviceAccountToken":
                    yield from _validate_token(source[member], f"{place}.{member}", path)
            yield from _find_repeated_files(source[member], path, files)
        if len(given) > 1:
            yield forbidden(place, "may not specify more than 1 volume type per source")


def validate_no_tokens(spec: Object, path: str) -> Iterator[FieldError]:
    """Check that a pod without service account has no token of one; templates may have one."""
    for index, volume in enumerate(get_items(spec, "volumes")):
        for at, source in enumerate(get_items(volume, "projected", "sources")):
            if source.get("serviceAccountToken") is not None:
                place = f"{path}.volumes[{index}].projected.sources[{at}].serviceAccountToken"
                yield forbidden(place, "must not be specified when serviceAccountName is not set")


def _validate_keys(source: Object, path: str) -> Iterator[FieldError]:
    if not source.get("name"):
        yield required(f"{path}.name")
    for index, item in enumerate(get_items(source, "items")):
        yield from validate_key_file(item, f"{path}.items[{index}]")


def _validate_token(token: Object, path: str, volume_path: str) -> Iterator[FieldError]:
    seconds = token.get("expirationSeconds") or 0
    place = f"{path}.expirationSeconds"
    if seconds < _SHORTEST_TOKEN_S:
        yield invalid(place, seconds, "may not specify a duration less than 10 minutes")
    if seconds > _LONGEST_TOKEN_S:
        yield invalid(place, seconds, "may not specify a duration larger than 2^32 seconds")
    if not token.get("path"):
        yield required(f"{volume_path}.path")
    else:
        yield from _validate_file_path(token["path"], f"{volume_path}.path")


def _find_repeated_files(source: Object, path: str, files: set[str]) -> Iterator[FieldError]:
    for item in get_items(source, "items"):
        name = item.get("path") or ""
        shown = "" if "key" in item else name  # a secret or config map is shown by its own name
        if name and name in files:
            yield invalid(path, source.get("name") or shown, "conflicting duplicate paths")
        files.add(name)
