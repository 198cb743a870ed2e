"""The originals that our operators take over from: their definitions, and what they leave behind.

A take-over in a test goes as a user's does: the original's definitions are there and its objects
are stored under them, ours are applied over them, our operator runs, and in the end the
definitions of the original are put back.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quarterdeck.client import Client
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.wire.status import NotFound

GOLDEN = Path(__file__).parents[1] / "golden/originals"
NAMES = tuple(sorted(each.stem for each in GOLDEN.glob("*.json")))
_CRDS = GVR("apiextensions.k8s.io", "v1", "customresourcedefinitions")


def read_definition(name: str) -> dict[str, Any]:
    """The definition of an original, such as `pipelines.fleetmanagement.grafana.com`."""
    found: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return found


def names_of(group: str) -> tuple[str, ...]:
    """The definitions of an original that are in a group."""
    return tuple(each for each in NAMES if each.split(".", 1)[1] == group)


async def put_definitions(client: Client, group: str) -> None:
    """Create the definitions of an original, or put them in the place of ours."""
    crds = client.resource(_CRDS)
    for name in names_of(group):
        wanted = read_definition(name)
        try:
            current = await crds.get(name)
        except NotFound:
            await crds.create(wanted)
            continue
        await crds.update({**current, "spec": wanted["spec"]})


async def leave_object(client: Client, document: Mapping[str, Any]) -> dict[str, Any]:
    """Store an object with its status as an operator that was switched off leaves it."""
    resource, _ = await client.discover_resource(GVK.of(document["apiVersion"], document["kind"]))
    created = await resource.create({k: v for k, v in document.items() if k != "status"})
    if "status" not in document:
        return created
    return await resource.subresource("status").update({**created, "status": document["status"]})


async def write_unchanged(client: Client, document: Mapping[str, Any]) -> dict[str, Any]:
    """Read an object, write it and its status as they are, and return it.

    An operator that cannot do this under its own definitions cannot work with the object.
    """
    resource, _ = await client.discover_resource(GVK.of(document["apiVersion"], document["kind"]))
    metadata = document["metadata"]
    current = await resource.get(metadata["name"], metadata.get("namespace", ""))
    written = await resource.update(current)
    if "status" not in current:
        return written
    return await resource.subresource("status").update({**written, "status": current["status"]})
