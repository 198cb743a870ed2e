"""Strategic merge patch: the patch format with merge keys for lists of built-in kinds.

`apply` merges a patch as the server does; `create` makes the three-way patch `kubectl apply`
sends, `diff` the two-way one. Strategies and merge keys come from the schema node
(`meta.builtins.find_node`). Only `apply_and_strip` changes an argument, the patch. Results share
unchanged parts with the arguments.
"""

from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural.json_copy import copy_value
from quarterdeck.wire.strategic.differ import Part, diff_maps
from quarterdeck.wire.strategic.errors import PreconditionFailed, StrategicMergeError
from quarterdeck.wire.strategic.merger import Mode, merge_maps

__all__ = [
    "PreconditionFailed",
    "StrategicMergeError",
    "apply",
    "apply_and_strip",
    "create",
    "diff",
]


def apply(original: Mapping[str, Any], patch: Mapping[str, Any], node: Node) -> dict[str, Any]:
    """Merge a patch into an object.

    Raises:
        StrategicMergeError: if the patch is malformed for this kind.
    """
    return apply_and_strip(original, copy_value(dict(patch)), node)


def apply_and_strip(
    original: Mapping[str, Any], patch: dict[str, Any], node: Node
) -> dict[str, Any]:
    """Merge a patch into an object, and remove from the patch what Kubernetes removes.

    These are directives, ordered lists, and nulls; errors about the result show the rest.

    Raises:
        StrategicMergeError: if the patch is malformed for this kind.
    """
    return merge_maps(original, patch, node, mode=Mode.APPLY)


def create(
    original: Mapping[str, Any],
    modified: Mapping[str, Any],
    current: Mapping[str, Any],
    node: Node,
) -> dict[str, Any]:
    """Create the patch from `current` to `modified`, which deletes what only `original` had.

    `original` is the configuration that was applied last; values that others set since are kept.
    apiVersion, kind and name may not change.

    Raises:
        PreconditionFailed: if the patch would change the identity.
        StrategicMergeError: if a list item lacks its merge key.
    """
    changes = diff_maps(current, modified, node, want=Part.CHANGES)
    deletions = diff_maps(original, modified, node, want=Part.DELETIONS)
    patch = merge_maps(deletions, changes, node, mode=Mode.COMBINE)
    _check_identity(patch)
    return patch


def diff(original: Mapping[str, Any], modified: Mapping[str, Any], node: Node) -> dict[str, Any]:
    """Create the patch from `original` to `modified`; empty if they are equal."""
    return diff_maps(original, modified, node, want=Part.ALL)


def _check_identity(patch: Mapping[str, Any]) -> None:
    metadata = patch.get("metadata")
    for where, members in ((patch, ("apiVersion", "kind")), (metadata, ("name",))):
        for member in members:
            if isinstance(where, Mapping) and member in where:
                raise PreconditionFailed(
                    f"{member} may not change: the patch sets it to {where[member]!r}"
                )
