"""The custom resource every suite uses."""

from typing import Any

from bench.peers import prose
from bench.peers.kind import GROUP, PLURAL, VERSION

_WITHOUT_TEXT = 700


def definition() -> dict[str, Any]:
    """The custom resource every suite uses: a schema with bounds, defaults and a rule."""
    spec = {
        "type": "object",
        "required": ["size"],
        "properties": {
            "size": {"type": "integer", "minimum": 0},
            "text": {"type": "string", "maxLength": 65536},
            "mode": {"type": "string", "enum": ["fast", "safe"], "default": "safe"},
            "ports": {
                "type": "array",
                "maxItems": 16,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name"],
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": {
                        "name": {"type": "string", "maxLength": 63},
                        "port": {"type": "integer", "minimum": 1, "maximum": 65535},
                    },
                },
            },
        },
        "x-kubernetes-validations": [
            {"rule": "!has(self.ports) || self.ports.size() <= 8", "message": "too many ports"}
        ],
    }
    status = {
        "type": "object",
        "properties": {
            "seen": {"type": "integer"},
            "observedGeneration": {"type": "integer"},
            "beat": {"type": "integer"},
            "conditions": {
                "type": "array",
                "items": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
        },
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{PLURAL}.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": PLURAL, "singular": "widget", "kind": "Widget"},
            "versions": [
                {
                    "name": VERSION,
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {"spec": spec, "status": status},
                        }
                    },
                }
            ],
        },
    }


def text_for(stored: int) -> int:
    """The length of text that makes an object about so many bytes as it is stored."""
    return max(0, stored - _WITHOUT_TEXT)


def widget(name: str, size: int, *, text: int = 400) -> dict[str, Any]:
    """One object of that kind, about a kilobyte as it is stored."""
    return {
        "apiVersion": f"{GROUP}/{VERSION}",
        "kind": "Widget",
        "metadata": {"name": name, "labels": {"app": "bench", "shard": str(size % 7)}},
        "spec": {
            "size": size,
            "text": prose.words(text, seed=size),
            "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}],
        },
    }
