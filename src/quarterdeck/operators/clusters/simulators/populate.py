"""Puts the contents of a profile into a cluster."""

import contextlib
from typing import Any

from quarterdeck.client.client import Client
from quarterdeck.kit.clock import Clock
from quarterdeck.meta.identity import GVK
from quarterdeck.operators.clusters.simulators.contents import (
    Profile,
    build_definitions,
    build_manifests,
)
from quarterdeck.wire.status import AlreadyExists, NotFound

_TRIES = 100
_PAUSE_S = 0.05


async def populate(client: Client, profile: Profile, *, clock: Clock) -> None:
    """Create everything of the profile; what is there already stays."""
    for manifest in (*build_definitions(profile), *build_manifests(profile)):
        await _create(client, manifest, clock)


async def _create(client: Client, manifest: dict[str, Any], clock: Clock) -> None:
    api_version, kind = manifest["apiVersion"], manifest["kind"]
    for number in range(_TRIES):
        try:
            resources, found = await client.discover_resource(GVK.of(api_version, kind))
            break
        except NotFound:  # its definition was created a moment ago
            if number == _TRIES - 1:
                raise
            await clock.sleep(_PAUSE_S)
    status = manifest.get("status")
    with contextlib.suppress(AlreadyExists):
        await resources.create(manifest)
    if status is not None and "status" in found.subresources:
        metadata = manifest["metadata"]
        await resources.subresource("status").patch(
            metadata["name"], {"status": status}, namespace=metadata.get("namespace", "")
        )
