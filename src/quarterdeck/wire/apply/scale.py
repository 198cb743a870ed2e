"""managedFields seen through the scale subresource.

A Scale shows one field of its parent, so its managedFields are those entries of the parent that
own this field, and what a write through it changes goes back to the parent's entries.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from quarterdeck.wire.apply.fieldset import FieldSet, difference, has
from quarterdeck.wire.apply.identity import Identity
from quarterdeck.wire.apply.managed import Managed, decode, encode
from quarterdeck.wire.apply.updater import Owned

SCALE_VERSION = "autoscaling/v1"
_REPLICAS = ("f:spec", "f:replicas")

ReplicasPaths = Mapping[str, str]
"""Dotted path of the replicas field at each version of the parent: `spec.replicas`."""


def to_scale(entries: Sequence[Mapping[str, Any]], paths: ReplicasPaths) -> list[dict[str, Any]]:
    """The managedFields of the Scale of an object with these entries."""
    parent = decode(entries)
    shown = Managed({}, {})
    for key, owned in parent.owners.items():
        path = paths.get(owned.api_version)
        if path is not None and has(owned.fields, _elements(path)):
            replicas = FieldSet.of("spec.replicas").trie
            shown.owners[key] = Owned(replicas, SCALE_VERSION, applied=owned.applied)
            _copy_time(parent, shown, key)
    return encode(shown)


def from_scale(
    entries: Sequence[Mapping[str, Any]],
    scale_entries: Sequence[Mapping[str, Any]],
    *,
    api_version: str,
    paths: ReplicasPaths,
) -> list[dict[str, Any]]:
    """The parent's managedFields after a write through its Scale at `api_version`.

    Entries of versions without a known path are forgotten, as Kubernetes forgets them.
    """
    parent = decode(entries)
    scale = dict(decode(scale_entries).owners)
    result = Managed({}, {})
    for key, owned in parent.owners.items():
        path = paths.get(owned.api_version)
        if path is None:
            continue
        kept = owned
        if has(owned.fields, _elements(path)) and scale.pop(key, None) is None:
            fields = difference(owned.fields, FieldSet.of(path).trie)
            kept = Owned(fields, owned.api_version, applied=owned.applied)
        if kept.fields:
            result.owners[key] = kept
            _copy_time(parent, result, key)
    for key, owned in scale.items():
        if has(owned.fields, _REPLICAS):
            fields = FieldSet.of(paths[api_version]).trie
            result.owners[key] = Owned(fields, api_version, applied=owned.applied)
            _copy_time(parent, result, key)
    return encode(result)


def _elements(path: str) -> tuple[str, ...]:
    return tuple(f"f:{name}" for name in path.split("."))


def _copy_time(source: Managed, target: Managed, key: Identity) -> None:
    if key in source.times:
        target.times[key] = source.times[key]
