"""A software bill of materials in CycloneDX 1.6: what the image holds, with package URLs."""

import uuid
from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import quote


class Component(NamedTuple):
    """A package in the image."""

    name: str
    version: str
    purl: str


def name_debian(name: str, version: str, *, architecture: str) -> Component:
    """A Debian package."""
    purl = f"pkg:deb/debian/{quote(name)}@{quote(version, safe='')}?arch={architecture}"
    return Component(name, version, purl)


def name_python(name: str, version: str) -> Component:
    """A package of the Python Package Index."""
    plain = name.lower().replace("_", "-")
    return Component(name, version, f"pkg:pypi/{quote(plain)}@{quote(version, safe='')}")


def build_sbom(product: Component, parts: Sequence[Component], *, created: str) -> dict[str, Any]:
    """The document; equal parts give an equal document, its serial number included."""
    ordered = sorted(set(parts), key=lambda each: each.purl)
    seed = "\n".join([product.purl, created, *(each.purl for each in ordered)])
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, seed)}",
        "version": 1,
        "metadata": {
            "timestamp": created,
            "component": {**_describe(product), "type": "container"},
        },
        "components": [{**_describe(each), "type": "library"} for each in ordered],
        "dependencies": [{"ref": product.purl, "dependsOn": [each.purl for each in ordered]}],
    }


def _describe(component: Component) -> dict[str, str]:
    return {
        "bom-ref": component.purl,
        "name": component.name,
        "version": component.version,
        "purl": component.purl,
    }
