"""Applies what an embedded server should have: the CRDs of the operators' kinds, and samples."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.client.interfaces import Api
from quarterdeck.meta.identity import GVK
from quarterdeck.runtime.manager.definitions import FIELD_MANAGER, apply_changed
from quarterdeck.runtime.manager.definitions import apply_definitions as install
from quarterdeck.wire.path import ResourcePath

__all__ = ["FIELD_MANAGER", "apply", "install"]


async def apply(api: Api, documents: Iterable[Mapping[str, Any]]) -> None:
    """Apply manifests of kinds that the server knows; what is as it should be is left alone."""
    for document in documents:
        found = await api.resource(GVK.of(document["apiVersion"], document["kind"]))
        metadata = document["metadata"]
        path = ResourcePath(*found.gvr, metadata.get("namespace", ""), metadata["name"])
        await apply_changed(api, path, document)
