"""Conversion between versions of the group, through one hub. Pure.

v1alpha1 is the hub: a later version brings two functions, to the hub and from it, and every pair
of versions converts through it. Metadata passes unchanged. What a version has no field for is kept
in an annotation, so that a round trip loses nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from quarterdeck.apis.hypervisor.names import GROUP

HUB = "v1alpha1"
Document = dict[str, Any]
Change = Callable[[Document], Document]


class ConversionError(ValueError):
    """Raised when an object cannot be converted; names the version or group that is not known."""


class Spoke(NamedTuple):
    """A version beside the hub."""

    to_hub: Change
    from_hub: Change


SPOKES: Mapping[str, Spoke] = {}
"""Versions beside the hub, by name; none yet."""


def convert(
    document: Mapping[str, Any], version: str, spokes: Mapping[str, Spoke] = SPOKES
) -> Document:
    """An object of the group in another version.

    Raises:
        ConversionError: if the object is of another group, or a version is not known.
    """
    group, _, current = str(document.get("apiVersion", "")).rpartition("/")
    if group != GROUP:
        raise ConversionError(
            f"apiVersion {document.get('apiVersion')!r} is not in the group {GROUP}"
        )
    if current == version:
        return dict(document)
    hub = dict(document) if current == HUB else _find(current, spokes).to_hub(dict(document))
    found = hub if version == HUB else _find(version, spokes).from_hub(hub)
    return {**found, "apiVersion": f"{GROUP}/{version}", "metadata": document.get("metadata", {})}


def _find(version: str, spokes: Mapping[str, Spoke]) -> Spoke:
    if version not in spokes:
        known = ", ".join(sorted({HUB, *spokes}))
        raise ConversionError(f"unknown version {version} of {GROUP}: must be one of {known}")
    return spokes[version]
