"""Checks objects against the schema of their kind, and normalizes merged objects.

The types of built-in kinds are Go's: decoding a request checked them already, and every member has
a zero value. Objects of custom kinds are checked against their schema.
"""

import functools
from collections.abc import Mapping
from typing import Any

from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node
from quarterdeck.meta.structural import fast
from quarterdeck.meta.structural.inlined.acceptance import build_acceptance
from quarterdeck.meta.structural.inlined.warming import warm_up
from quarterdeck.wire.apply.nulls import drop_new_nulls
from quarterdeck.wire.apply.schema_type import Type
from quarterdeck.wire.apply.walk import find_problems, join_problems
from quarterdeck.wire.status import ApiError, BadRequest

LATER_APPLY = "failed to create typed live object ({})"
FIRST_APPLY = (
    "failed to create manager for existing fields: failed to convert new object ({}) to smd typed"
)


class TypedObjects:
    """Objects of one kind at one version."""

    def __init__(self, node: Node, schema_type: Type, api_version: str) -> None:
        self._node = node
        self._type = schema_type
        self._api_version = api_version
        self.is_builtin = bool(node.type_name)

    def fits(self, value: dict[str, Any]) -> bool:
        """Whether an object has the types of the schema; those of built-in kinds always do.

        If not, Kubernetes drops its managedFields.
        """
        if self.is_builtin:
            return True
        return self._accepts(value) or not find_problems(value, self._type, unique=False)

    def check_applied(self, config: Mapping[str, Any]) -> None:
        """Refuse a configuration that has managedFields or does not fit the schema.

        Raises:
            BadRequest: if it has managedFields.
            ApiError: 500 if it does not fit, as Kubernetes answers it.
        """
        if get_metadata(config).get("managedFields") is not None:
            raise BadRequest("metadata.managedFields must be nil")
        if found := find_problems(config, self._type, unique=True):
            problems = join_problems(found)
            raise ApiError(
                f"failed to create typed patch object ({self._name_of(config)}): {problems}"
            )

    def check_live(self, live: dict[str, Any], failure: str = LATER_APPLY) -> None:
        """Refuse to apply to a stored object that does not fit the current schema.

        Raises:
            ApiError: 500, as Kubernetes answers it.
        """
        if self.is_builtin or self._accepts(live):
            return
        if found := find_problems(live, self._type, unique=False):
            problems = join_problems(found)
            raise ApiError(f"{failure.format(self._name_of(live))}: {problems}")

    @functools.cached_property
    def _accepts(self) -> fast.Predicate:
        """Tests quickly whether an object is valid, which nearly all are."""
        return warm_up(
            vars(self),
            "_accepts",
            slow=fast.compile_predicate(self._node),
            build=lambda: build_acceptance(self._node),
        )

    def _name_of(self, config: Mapping[str, Any]) -> str:
        metadata = get_metadata(config)
        where = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        version = self._api_version if "/" in self._api_version else f"/{self._api_version}"
        return f"{where}; {version}, Kind={config.get('kind', '')}"

    def _find_conversion_error(self, merged: dict[str, Any]) -> str | None:
        from quarterdeck.meta import builtins

        kind = self._get_kind(merged)
        return builtins.find_conversion_error(merged, kind) if builtins.is_builtin(kind) else None

    def _get_kind(self, value: Mapping[str, Any]) -> GVK:
        group, _, version = self._api_version.rpartition("/")
        return GVK(group, version, str(value.get("kind") or ""))

    def build_empty(self, config: Mapping[str, Any]) -> dict[str, Any]:
        """Build the object to compare a new one with: Go's zero values for a built-in kind."""
        kind = {name: config[name] for name in ("apiVersion", "kind") if name in config}
        if not self.is_builtin:
            return kind
        from quarterdeck.meta import builtins

        return kind | remove_managed_fields(builtins.build_zero_type(self._node.type_name))

    def normalize(
        self, merged: dict[str, Any], live: dict[str, Any], config: Mapping[str, Any]
    ) -> dict[str, Any]:
        """Normalize a merged object: by its Go type, or by dropping nulls of a custom object.

        Raises:
            ApiError: 500 if the merged object does not fit the Go type.
        """
        if not self.is_builtin:
            return drop_new_nulls(merged, live, self._node, config)
        from quarterdeck.meta import builtins

        decoded = builtins.decode_type(merged, self._node.type_name)
        if decoded.error is not None and builtins.is_builtin(kind := self._get_kind(merged)):
            converted = builtins.convert_numbers(merged, kind)
            decoded = builtins.decode_type(converted, self._node.type_name)
        if decoded.error is not None:
            version = self._api_version if "/" in self._api_version else f"/{self._api_version}"
            raise ApiError(
                f"failed to convert new object ({self._name_of(config)}) to proper version: unable"
                f" to convert unstructured object to {version}, Kind={config.get('kind', '')}:"
                f" {self._find_conversion_error(merged) or decoded.error}"
            )
        return decoded.object


def get_metadata(value: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return the metadata of an object; empty if there is none."""
    metadata = value.get("metadata") if value is not None else None
    return metadata if isinstance(metadata, dict) else {}


def remove_managed_fields(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy without managedFields."""
    result = dict(value)
    metadata = result.get("metadata")
    if isinstance(metadata, dict) and "managedFields" in metadata:
        result["metadata"] = {
            name: part for name, part in metadata.items() if name != "managedFields"
        }
    return result
