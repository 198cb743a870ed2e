"""The OpenAPI documents of one server, as compressed bytes with their hashes.

The hash of a group version is computed from the inputs of its document, not from the document: the
index contains all hashes, and building thirty documents for it would be slow.
"""

import gzip
import hashlib
from collections.abc import Iterator
from typing import Any, NamedTuple

from quarterdeck.kit import json
from quarterdeck.meta.builtins import descriptions, table
from quarterdeck.meta.identity import GroupVersion
from quarterdeck.meta.schema import to_openapi
from quarterdeck.server.openapi.operations import build_paths
from quarterdeck.server.openapi.schemas import PREFIX, Components
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Resource

Document = dict[str, Any]


class ServedDocument(NamedTuple):
    """A document ready to send."""

    body: bytes
    compressed: bytes
    etag: str


class OpenApiDocuments:
    """Builds documents on demand and keeps them until their group version changes."""

    def __init__(self, registry: Registry, git_version: str) -> None:
        self._registry = registry
        self.git_version = git_version
        self._generation = -1
        self._resources: dict[str, list[Resource]] = {}
        self._hashes: dict[str, str] = {}
        self._built: dict[str, tuple[str, ServedDocument]] = {}

    def refresh(self) -> None:
        """Read the registry; call it before the others. Hashes of what did not change are kept."""
        if self._generation == self._registry.generation:
            return
        self._generation = self._registry.generation
        before, self._resources = self._resources, {}
        for resource in self._registry:
            name = build_document_name(GroupVersion(resource.gvr.group, resource.gvr.version))
            self._resources.setdefault(name, []).append(resource)
        for name in list(self._hashes):
            if not _is_same(before.get(name), self._resources.get(name)):
                del self._hashes[name]

    def get_index(self) -> ServedDocument:
        """`/openapi/v3`: where the document of each group version is, with its hash."""
        paths = {
            name: {"serverRelativeURL": f"/openapi/v3/{name}?hash={self._hash(name)}"}
            for name in sorted(self._resources)
        }
        return _build_served({"paths": paths})

    def get_version(self, name: str) -> ServedDocument | None:
        """`/openapi/v3/apis/apps/v1`; None if it is not served. The etag is its hash."""
        if name not in self._resources:
            return None
        digest = self._hash(name)
        kept = self._built.get(name)
        if kept is None or kept[0] != digest:
            served = _build_served(self._build_document(self._resources[name]))._replace(
                etag=digest
            )
            kept = self._built[name] = (digest, served)
        return kept[1]

    def get_swagger(self) -> ServedDocument:
        """`/openapi/v2`: everything in one Swagger document."""
        names = sorted(self._resources)
        digest = _compute_digest("v2", *(self._hash(name) for name in names))
        kept = self._built.get("")
        if kept is None or kept[0] != digest:
            everything = [each for name in names for each in self._resources[name]]
            served = _build_served(_convert_to_swagger(self._build_document(everything)))._replace(
                etag=digest
            )
            kept = self._built[""] = (digest, served)
        return kept[1]

    def _hash(self, name: str) -> str:
        if name not in self._hashes:
            parts = sorted(self._list_etag_parts(self._resources[name]))
            self._hashes[name] = _compute_digest(self.git_version, *parts)
        return self._hashes[name]

    def _list_etag_parts(self, resources: list[Resource]) -> Iterator[str]:
        """List what a document depends on: custom schemas, or the table's checksum."""
        checksum = table.get_checksum() + descriptions.get_checksum()
        for resource in resources:
            identity = f"{resource.gvr}{resource.kind}{sorted(resource.subresources)}"
            if resource.is_custom:
                schema = json.encode(to_openapi(resource.node)).decode()
                yield identity + schema + descriptions.get_checksum()
            else:
                yield identity + checksum

    def _build_document(self, resources: list[Resource]) -> Document:
        components = Components()
        paths: Document = {}
        for resource in sorted(resources, key=lambda each: each.gvr):
            paths.update(build_paths(resource, components))
        return {
            "openapi": "3.0.0",
            "info": {"title": "Kubernetes", "version": self.git_version},
            "paths": dict(sorted(paths.items())),
            "components": {"schemas": dict(sorted(components.schemas.items()))},
        }


def _is_same(left: list[Resource] | None, right: list[Resource] | None) -> bool:
    """Whether two lists have the same resources; a changed definition is another resource."""
    if left is None or right is None or len(left) != len(right):
        return False
    return all(one is other for one, other in zip(left, right, strict=True))


def build_document_name(version: GroupVersion) -> str:
    """Build the name of the document of a group version: `api/v1`, `apis/apps/v1`."""
    return f"apis/{version.group}/{version.version}" if version.group else f"api/{version.version}"


def _build_served(document: Document) -> ServedDocument:
    body = json.encode(document)
    return ServedDocument(body, gzip.compress(body, 6, mtime=0), _compute_digest(body))


def _compute_digest(*parts: str | bytes) -> str:
    digest = hashlib.sha512()
    for part in parts:
        digest.update(part.encode() if isinstance(part, str) else part)
        digest.update(b"\0")
    return digest.hexdigest().upper()


def _convert_to_swagger(document: Document) -> Document:
    """Convert a document to Swagger 2.0: components become definitions, bodies parameters."""
    paths = {
        path: {key: _convert_item(key, value) for key, value in item.items()}
        for path, item in document["paths"].items()
    }
    renamed = _rename_references({"paths": paths, "definitions": document["components"]["schemas"]})
    return {"swagger": "2.0", "info": document["info"], **renamed}


def _convert_item(key: str, value: Any) -> Any:
    if key == "parameters":
        return [_convert_parameter(each) for each in value]
    parameters = [_convert_parameter(each) for each in value["parameters"]]
    operation = {
        **{name: each for name, each in value.items() if name.startswith("x-")},
        "parameters": parameters,
        "responses": {code: _convert_response(each) for code, each in value["responses"].items()},
    }
    if "requestBody" in value:
        content = value["requestBody"]["content"]
        operation["consumes"] = list(content)
        schema = next(iter(content.values()))["schema"]
        parameters.append({"name": "body", "in": "body", "required": True, "schema": schema})
    return operation


def _convert_parameter(parameter: Document) -> Document:
    plain = {key: value for key, value in parameter.items() if key != "schema"}
    return {**plain, **parameter["schema"]}


def _convert_response(response: Document) -> Document:
    content = next(iter(response["content"].values()))
    return {"description": response["description"], "schema": content["schema"]}


def _rename_references(value: Any) -> Any:
    if isinstance(value, dict):
        if isinstance(target := value.get("$ref"), str):
            return {"$ref": target.replace(PREFIX, "#/definitions/")}
        return {key: _rename_references(each) for key, each in value.items() if key != "oneOf"}
    if isinstance(value, list):
        return [_rename_references(each) for each in value]
    return value
