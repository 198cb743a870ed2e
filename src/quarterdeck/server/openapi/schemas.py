"""Schemas as OpenAPI components: graphs of nodes become documents that refer to each other."""

from typing import Any

from quarterdeck.meta import builtins
from quarterdeck.meta.builtins import descriptions
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node, to_openapi
from quarterdeck.server.registry.resource import Resource

Document = dict[str, Any]

PREFIX = "#/components/schemas/"
OBJECT_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
LIST_META = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta"
STATUS = "io.k8s.apimachinery.pkg.apis.meta.v1.Status"


class Components:
    """The components of one document; building a reference adds the component it refers to."""

    def __init__(self) -> None:
        self.schemas: dict[str, Document] = {}

    def add_resource(self, resource: Resource) -> str:
        """Add the components of a resource's kind and of its list; return the name of the first."""
        name = build_component_name(resource)
        if name not in self.schemas:
            self.schemas[name] = {}
            body = (
                self._build_custom(resource)
                if resource.is_custom
                else self._build_struct(resource.node)
            )
            body["x-kubernetes-group-version-kind"] = [build_kind_reference(resource.gvk)]
            self.schemas[name] = body
            if "list" in resource.verbs:
                self.schemas[f"{name}List"] = self._list(resource, name)
        return name

    def add_builtin(self, gvk: GVK) -> str:
        """Add the component of a built-in kind without a resource; return its name."""
        node = builtins.find_node(gvk)
        if node is None:
            raise LookupError(f"{gvk} is not in the table of built-in kinds")
        self._build_reference(node)
        return node.type_name

    def add_meta(self, name: str) -> str:
        """Add a component of `meta/v1`, such as Status or DeleteOptions; return its name."""
        return self.add_builtin(GVK("", "v1", name))

    def _build_custom(self, resource: Resource) -> Document:
        body = to_openapi(resource.node)
        properties = body.setdefault("properties", {})
        self._add_object_meta()
        properties |= _build_type_meta(OBJECT_META)
        body.setdefault("type", "object")
        return body

    def _add_object_meta(self) -> None:
        pod = builtins.find_node(GVK("", "v1", "ConfigMap"))
        if pod is not None:
            self._build_reference(pod.properties["metadata"])

    def _list(self, resource: Resource, name: str) -> Document:
        self._list_meta()
        gvk = resource.gvk._replace(kind=resource.list_kind)
        return {
            "type": "object",
            "required": ["items"],
            "properties": {
                **_build_type_meta(LIST_META),
                "items": {
                    **_describe(name, "items"),
                    "type": "array",
                    "items": {"$ref": PREFIX + name},
                },
            },
            "x-kubernetes-group-version-kind": [build_kind_reference(gvk)],
        }

    def _list_meta(self) -> None:
        node = builtins.find_node(GVK("", "v1", "Status"))
        if node is not None:
            self._build_reference(node.properties["metadata"])

    def _build_reference(self, node: Node) -> Document:
        """Build the schema for the use of a type: a reference if the type has a name."""
        if not node.type_name:
            return self._build_inline(node)
        if node.type_name not in self.schemas:
            self.schemas[node.type_name] = {}
            self.schemas[node.type_name] = self._build_struct(node)
        return {"$ref": PREFIX + node.type_name}

    def _build_struct(self, node: Node) -> Document:
        if node.properties:
            document: Document = {"type": "object"}
            if text := descriptions.describe_type(node.type_name):
                document["description"] = text
            document["properties"] = {
                name: self._build_property(each, _describe(node.type_name, name))
                for name, each in node.properties.items()
            }
            if node.required:
                document["required"] = list(node.required)
            if node.map_type:
                document["x-kubernetes-map-type"] = node.map_type
            return document
        return self._build_inline(node)

    def _build_property(self, node: Node, description: Document) -> Document:
        """Build a property: its own description and default beside the reference to its type."""
        document = self._build_reference(node)
        place = description | _build_place(node)
        if "$ref" in document and place:
            return {"allOf": [document], **place}
        return document | place

    def _build_inline(self, node: Node) -> Document:
        if node.int_or_string:
            document: Document = {
                "format": "int-or-string",
                "oneOf": [{"type": "integer"}, {"type": "string"}],
            }
            return document
        document = {}
        if node.type:
            document["type"] = node.type
        if node.format:
            document["format"] = node.format
        if node.items is not None:
            document["items"] = self._build_reference(node.items)
        if isinstance(node.additional, Node):
            document["additionalProperties"] = self._build_reference(node.additional)
        if node.preserve_unknown:
            document["x-kubernetes-preserve-unknown-fields"] = True
        return document


def _build_type_meta(metadata: str) -> Document:
    """Build the members that every kind has; `metadata` is the component of its metadata."""
    return {
        "apiVersion": {**_describe("", "apiVersion"), "type": "string"},
        "kind": {**_describe("", "kind"), "type": "string"},
        "metadata": {
            **_describe("", "metadata"),
            "allOf": [{"$ref": PREFIX + metadata}],
            "default": {},
        },
    }


def _describe(type_name: str, member: str) -> Document:
    text = descriptions.describe_member(type_name, member)
    return {"description": text} if text else {}


def _build_place(node: Node) -> Document:
    """Build the keywords of a member that are not part of its type: list type, patch, default."""
    document: Document = {}
    if node.has_default:
        document["default"] = node.default
    if node.list_type:
        document["x-kubernetes-list-type"] = node.list_type
    if node.list_map_keys:
        document["x-kubernetes-list-map-keys"] = list(node.list_map_keys)
    if node.patch_strategy:
        document["x-kubernetes-patch-strategy"] = ",".join(node.patch_strategy)
    if node.patch_merge_key:
        document["x-kubernetes-patch-merge-key"] = node.patch_merge_key
    return document


def build_component_name(resource: Resource) -> str:
    """Build the name of a component, such as `io.k8s.api.apps.v1.Deployment`."""
    if not resource.is_custom and resource.node.type_name:
        return resource.node.type_name
    group, version, kind = resource.gvk
    return ".".join((*reversed(group.split(".")), version, kind))


def build_kind_reference(gvk: GVK) -> Document:
    """Build the extension by which kubectl finds a kind."""
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}
