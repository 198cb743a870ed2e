"""Applies manifests to an API server: CRDs of the operators' kinds, and samples."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVK
from quarterdeck.runtime.manager.definitions import FIELD_MANAGER, apply_changed
from quarterdeck.runtime.manager.definitions import apply_definitions as install
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import NotFound

__all__ = ["FIELD_MANAGER", "apply", "apply_missing", "check", "install"]

_DRY_RUN = PatchOptions(field_manager=FIELD_MANAGER, force=True, dry_run=("All",))


async def apply(api: Api, documents: Iterable[Mapping[str, Any]]) -> None:
    """Apply manifests of kinds that the server serves; objects that match are not written."""
    for document in documents:
        await apply_changed(api, await _find_path(api, document), document)


async def check(api: Api, document: Mapping[str, Any]) -> None:
    """Raises `ApiError` if the server would refuse to apply a manifest; nothing is stored."""
    path = await _find_path(api, document)
    await api.patch(path, json.encode(document), PatchType.APPLY, _DRY_RUN)


async def apply_missing(api: Api, documents: Iterable[Mapping[str, Any]]) -> None:
    """Apply manifests only if the object does not exist yet: others change it afterwards."""
    for document in documents:
        path = await _find_path(api, document)
        try:
            await api.get(path)
        except NotFound:
            await apply_changed(api, path, document)


async def _find_path(api: Api, document: Mapping[str, Any]) -> ResourcePath:
    found = await api.discover_resource(GVK.of(document["apiVersion"], document["kind"]))
    metadata = document["metadata"]
    return ResourcePath(*found.gvr, metadata.get("namespace", ""), metadata["name"])
