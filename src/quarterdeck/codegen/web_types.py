"""Types of our kinds for the dashboard, from the schemas of their CRDs."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from quarterdeck import apis
from quarterdeck.codegen.files import NOTICE, File
from quarterdeck.meta import crd

PATH = "web/src/generated/kinds.ts"
_INDENT = "  "
_SCALARS = {"string": "string", "integer": "number", "number": "number", "boolean": "boolean"}
_IDENTIFIER = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
_PARTS = ("spec", "status")


def build_files() -> Iterator[File]:
    """One module with a type for each kind and a table of them."""
    documents = crd.build_manifests(apis.own_scheme().list_kinds())
    specs = sorted((each["spec"] for each in documents), key=lambda each: _sort_key(each))
    parts = [f"// {NOTICE}\n", 'import type { ObjectMeta } from "../api/objects";\n']
    parts += [_write_kind(each) for each in specs]
    parts.append(_write_table(specs))
    yield File(PATH, "\n".join(parts))


def _sort_key(spec: Mapping[str, Any]) -> tuple[str, str]:
    return spec["group"], spec["names"]["kind"]


def _write_kind(spec: Mapping[str, Any]) -> str:
    schema = _find_version(spec)["schema"]["openAPIV3Schema"]
    lines = [f"export interface {_name(spec)} {{"]
    lines += [f"{_INDENT}apiVersion: string;", f"{_INDENT}kind: string;"]
    lines.append(f"{_INDENT}metadata: ObjectMeta;")
    for part in _PARTS:
        found = schema["properties"].get(part)
        if found is not None:
            mark = "" if part in schema.get("required", ()) else "?"
            lines.append(f"{_INDENT}{part}{mark}: {write_type(found, 1)};")
    return "\n".join([*lines, "}\n"])


def write_type(schema: Mapping[str, Any], depth: int) -> str:
    """A schema as a TypeScript type."""
    if "enum" in schema and schema.get("type") == "string":
        return " | ".join(f'"{each}"' for each in schema["enum"] if each != "") or "string"
    if schema.get("x-kubernetes-int-or-string"):
        return "number | string"
    match schema.get("type"):
        case "array":
            return f"Array<{write_type(schema.get('items', {}), depth)}>"
        case "object" if schema.get("properties"):
            return _write_object(schema, depth)
        case "object":
            values = schema.get("additionalProperties")
            inner = write_type(values, depth) if isinstance(values, dict) else "unknown"
            return f"Record<string, {inner}>"
        case kind if kind in _SCALARS:
            return _SCALARS[kind]
        case _:
            return "unknown"


def _write_object(schema: Mapping[str, Any], depth: int) -> str:
    required = schema.get("required", ())
    pad = _INDENT * (depth + 1)
    lines = ["{"]
    for name, value in schema["properties"].items():
        key = name if _IDENTIFIER.fullmatch(name) else f'"{name}"'
        mark = "" if name in required else "?"
        lines.append(f"{pad}{key}{mark}: {write_type(value, depth + 1)};")
    return "\n".join([*lines, f"{_INDENT * depth}}}"])


def _write_table(specs: list[Mapping[str, Any]]) -> str:
    lines = ["export const KINDS = {"]
    for spec in specs:
        version = _find_version(spec)["name"]
        is_namespaced = str(spec["scope"] == "Namespaced").lower()
        lines.append(
            f'{_INDENT}{_name(spec)}: {{ group: "{spec["group"]}", version: "{version}", '
            f'resource: "{spec["names"]["plural"]}", kind: "{spec["names"]["kind"]}", '
            f"namespaced: {is_namespaced} }},"
        )
    return "\n".join([*lines, "} as const;\n"])


def _name(spec: Mapping[str, Any]) -> str:
    name: str = spec["names"]["kind"]
    return name


def _find_version(spec: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = next(each for each in spec["versions"] if each["storage"])
    return found
