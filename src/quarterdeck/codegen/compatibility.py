"""Does a changed type still fit the objects that are already stored?

Two manifests of one kind are compared version by version. Removing a served version or a field, or
refusing what was accepted, breaks stored objects; such a change belongs in a new version of the
kind. Adding fields and loosening limits is fine.
"""

from collections.abc import Iterator
from typing import Any

from quarterdeck.meta.schema import Node, from_openapi

_LOWER = ("minimum", "min_length", "min_items", "min_properties")
_UPPER = ("maximum", "max_length", "max_items", "max_properties")
_FIXED = ("type", "int_or_string", "embedded_resource", "list_type", "list_map_keys", "map_type")


def find_breaking_changes(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What in `after` breaks objects stored under `before`, one sentence each."""
    old, new = before["spec"], after["spec"]
    found = [
        f"{what} changed from {old[what]} to {new[what]}"
        for what in ("group", "scope")
        if old[what] != new[what]
    ]
    found += [
        f"names.{what} changed from {old['names'][what]} to {new['names'][what]}"
        for what in ("plural", "kind")
        if old["names"][what] != new["names"][what]
    ]
    versions = {version["name"]: version for version in new["versions"]}
    for version in old["versions"]:
        found += _compare_versions(version, versions.get(version["name"]))
    return found


def _compare_versions(old: dict[str, Any], new: dict[str, Any] | None) -> Iterator[str]:
    name = old["name"]
    if new is None or (old["served"] and not new["served"]):
        yield f"{name}: the version is no longer served"
        return
    before, after = (from_openapi(version["schema"]["openAPIV3Schema"]) for version in (old, new))
    for text in _compare_nodes(before, after, ""):
        yield f"{name}: {text}"
    for subresource in old.get("subresources", {}):
        if subresource not in new.get("subresources", {}):
            yield f"{name}: the subresource {subresource} was removed"


def _compare_nodes(old: Node, new: Node, path: str) -> Iterator[str]:
    place = path.removeprefix(".") or "the object"
    for name in _FIXED:
        if getattr(old, name) != getattr(new, name):
            yield (
                f"{place}: {name} changed from {getattr(old, name) or 'none'} "
                f"to {getattr(new, name) or 'none'}"
            )
    for text in (*_compare_limits(old, new), *_compare_values(old, new), *_compare_rules(old, new)):
        yield f"{place}: {text}"
    yield from _compare_members(old, new, path)


def _compare_limits(old: Node, new: Node) -> Iterator[str]:
    for names, sign in ((_LOWER, 1), (_UPPER, -1)):
        for name in names:
            was, is_now = getattr(old, name), getattr(new, name)
            if is_now is not None and (was is None or (is_now - was) * sign > 0):
                yield f"{name} tightened from {'none' if was is None else was} to {is_now}"


def _compare_values(old: Node, new: Node) -> Iterator[str]:
    if new.enum is not None:
        if old.enum is None:
            yield "an enumeration was added"
        elif gone := [str(value) for value in old.enum if value not in new.enum]:
            yield f"enum values removed: {', '.join(gone)}"
    if new.pattern is not None and new.pattern != old.pattern:
        yield f"pattern changed to {new.pattern}"
    if new.format and new.format != old.format and old.format != "int64":
        yield f"format changed to {new.format}"
    if new.format == "int32" and old.format == "int64":
        yield "format tightened from int64 to int32"
    if old.nullable and not new.nullable:
        yield "is no longer nullable"
    if old.preserve_unknown and not new.preserve_unknown:
        yield "unknown fields are no longer kept"


def _compare_rules(old: Node, new: Node) -> Iterator[str]:
    known = {rule.rule for rule in old.rules}
    yield from (f"rule added: {rule.rule}" for rule in new.rules if rule.rule not in known)


def _compare_members(old: Node, new: Node, path: str) -> Iterator[str]:
    for name, member in old.properties.items():
        if (now := new.properties.get(name)) is not None:
            yield from _compare_nodes(member, now, f"{path}.{name}")
        elif not new.preserve_unknown:
            yield f"{path.removeprefix('.')}.{name}: the field was removed".removeprefix(".")
    for name in new.required:
        if name not in old.required and not _has_default(new, name):
            yield f"{path}.{name}: is now required".removeprefix(".")
    if old.items is not None and new.items is not None:
        yield from _compare_nodes(old.items, new.items, f"{path}[]")
    if isinstance(old.additional, Node) and isinstance(new.additional, Node):
        yield from _compare_nodes(old.additional, new.additional, f"{path}[*]")


def _has_default(node: Node, name: str) -> bool:
    member = node.properties.get(name)
    return member is not None and member.has_default
