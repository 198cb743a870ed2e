"""Installs the CRDs of the kinds that operators need, from the types themselves."""

from collections.abc import Iterable

from quarterdeck.client.interfaces import Api, PatchType
from quarterdeck.kit import json
from quarterdeck.meta import crd
from quarterdeck.meta.objects import Object
from quarterdeck.wire.path import ResourcePath
from quarterdeck.wire.query import PatchOptions

FIELD_MANAGER = "quarterdeck"
_CRDS = ResourcePath("apiextensions.k8s.io", "v1", "customresourcedefinitions")


async def install(api: Api, kinds: Iterable[type[Object]]) -> None:
    """Apply the definition of each kind; what is there already is brought up to date."""
    options = PatchOptions(field_manager=FIELD_MANAGER, force=True)
    for document in crd.manifests(kinds):
        path = _CRDS._replace(name=document["metadata"]["name"])
        await api.patch(path, json.encode(document), PatchType.APPLY, options)
