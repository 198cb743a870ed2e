"""Applies what an embedded server should have: the CRDs of the operators' kinds, and samples."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta import crd
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.reconcile.apply import is_apply_redundant
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import NotFound

FIELD_MANAGER = "quarterdeck"
_CRDS = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_OPTIONS = PatchOptions(field_manager=FIELD_MANAGER, force=True)


async def install(api: Api, kinds: Iterable[type[Object]]) -> None:
    """Apply the definition of each kind; what is as it should be is left alone.

    Looking first is worth it: most starts change nothing, and applying a definition makes the
    server check its whole schema and every rule in it.
    """
    for document in crd.build_manifests(kinds):
        path = _CRDS._replace(name=document["metadata"]["name"])
        try:
            current = json.decode(await api.get(path))
        except NotFound:
            current = {}
        if not is_apply_redundant(document, current, manager=FIELD_MANAGER):
            await api.patch(path, json.encode(document), PatchType.APPLY, _OPTIONS)


async def apply(api: Api, documents: Iterable[Mapping[str, Any]]) -> None:
    """Apply manifests of kinds that the server knows."""
    for document in documents:
        found = await api.resource(GVK.of(document["apiVersion"], document["kind"]))
        metadata = document["metadata"]
        path = ResourcePath(*found.gvr, metadata.get("namespace", ""), metadata["name"])
        await api.patch(path, json.encode(document), PatchType.APPLY, _OPTIONS)
