"""Applies the CustomResourceDefinitions of kinds, for development and for embedded servers."""

from collections.abc import Iterable, Mapping
from typing import Any

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.reconcile.apply import is_apply_redundant
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions
from quarterdeck.wire.status import NotFound

FIELD_MANAGER = "quarterdeck"
_CRDS = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")
_OPTIONS = PatchOptions(field_manager=FIELD_MANAGER, force=True)


async def apply_definitions(api: Api, kinds: Iterable[type[Object]]) -> None:
    """Apply the definition of each kind, unless the server has it already."""
    await apply_manifests(api, crd.build_manifests(kinds))


async def apply_manifests(api: Api, manifests: Iterable[Mapping[str, Any]]) -> None:
    """Apply definitions, unless the server has them already.

    They are read first, because most starts change nothing, and applying a definition makes the
    server check its whole schema and every rule in it.
    """
    for document in manifests:
        await apply_changed(api, _CRDS._replace(name=document["metadata"]["name"]), document)


async def apply_changed(api: Api, path: ResourcePath, document: Mapping[str, Any]) -> None:
    """Apply a manifest, unless our field manager has applied all of it to the object at `path`."""
    try:
        current = json.decode(await api.get(path))
    except NotFound:
        current = {}
    if not is_apply_redundant(document, current, manager=FIELD_MANAGER):
        await api.patch(path, json.encode(document), PatchType.APPLY, _OPTIONS)
