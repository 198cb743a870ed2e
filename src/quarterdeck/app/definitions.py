"""Applies what an embedded server should have: the CRDs of the operators' kinds, and samples."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta.identity import GVK
from quarterdeck.runtime.manager.definitions import FIELD_MANAGER
from quarterdeck.runtime.manager.definitions import apply_definitions as install
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions

__all__ = ["FIELD_MANAGER", "apply", "install"]
_OPTIONS = PatchOptions(field_manager=FIELD_MANAGER, force=True)


async def apply(api: Api, documents: Iterable[Mapping[str, Any]]) -> None:
    """Apply manifests of kinds that the server knows."""
    for document in documents:
        found = await api.resource(GVK.of(document["apiVersion"], document["kind"]))
        metadata = document["metadata"]
        path = ResourcePath(*found.gvr, metadata.get("namespace", ""), metadata["name"])
        await api.patch(path, json.encode(document), PatchType.APPLY, _OPTIONS)
