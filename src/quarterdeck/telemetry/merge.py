"""Merges pipelines into one configuration for a collector.

Alloy: each pipeline becomes a component of its own, so that names never clash and one pipeline can
read the collector's attributes as `argument.attributes.value["key"]`. OpenTelemetry: mappings are
merged, and a value that two pipelines set differently is a conflict the later pipeline loses.
The text has no time in it: equal input gives an equal hash, and collectors are left in peace.
"""

import hashlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.kit import yaml

_USES_ATTRIBUTES = re.compile(r"\bargument\s*\.\s*attributes\b")
_DECLARES_ATTRIBUTES = re.compile(r'\bargument\s+"attributes"')
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


class Part(msgspec.Struct, frozen=True, kw_only=True):
    """One pipeline of a merge; `revision` is only used in the header."""

    name: str
    contents: str
    revision: str = ""


class Merged(msgspec.Struct, frozen=True, kw_only=True):
    """A collector's configuration and its hash; `conflicts` names pipelines left out."""

    content: str
    hash: str
    conflicts: tuple[str, ...] = ()
    conflicting_pairs: tuple[tuple[str, str], ...] = ()
    """Pairs of a pipeline that was left out and one that it conflicts with."""


def uses_attributes(contents: str) -> bool:
    """Whether a pipeline reads the collector's attributes, so that its merge differs for each."""
    return _USES_ATTRIBUTES.search(contents) is not None


def merge_alloy(parts: Sequence[Part], attributes: Mapping[str, str]) -> Merged:
    """Merge Alloy pipelines; never empty, because an empty configuration clears nothing."""
    ordered = sorted(parts, key=lambda part: part.name.encode())
    lines = [_build_header(ordered)]
    taken: set[str] = set()
    for part in ordered:
        name = _build_component_name(part.name, taken)
        taken.add(name)
        lines.append(_build_component(name, part, attributes))
    return _build_result("".join(lines))


def merge_otel(parts: Sequence[Part]) -> Merged:
    """Merge OpenTelemetry pipelines; in a conflict the first by name wins."""
    ordered = sorted(parts, key=lambda part: part.name.encode())
    document: dict[str, Any] = {}
    kept: list[Part] = []
    documents: list[dict[str, Any]] = []
    conflicts: list[str] = []
    pairs: list[tuple[str, str]] = []
    for part in ordered:
        addition = _drop_empty_sections(yaml.load(part.contents))
        if not isinstance(addition, dict) or _has_conflict(document, addition, ()):
            conflicts.append(part.name)
            pairs += _find_conflicting_pairs(part, addition, kept, documents)
            continue
        document = _merge(document, addition, ())
        kept.append(part)
        documents.append(addition)
    header = _build_header(kept).replace("//", "#")
    text = header + (yaml.dump(document) if document else "")
    merged = _build_result(text)
    return msgspec.structs.replace(
        merged, conflicts=tuple(conflicts), conflicting_pairs=tuple(pairs)
    )


def _drop_empty_sections(document: Any) -> Any:
    """A configuration without sections that have no value, as in `processors:`."""
    if not isinstance(document, dict):
        return document
    found = {name: value for name, value in document.items() if value is not None}
    if isinstance(service := found.get("service"), dict):
        found["service"] = {name: value for name, value in service.items() if value is not None}
    return found


def _find_conflicting_pairs(
    part: Part, addition: object, kept: Sequence[Part], documents: Sequence[Mapping[str, Any]]
) -> list[tuple[str, str]]:
    """Pair a pipeline with each one that it conflicts with."""
    if not isinstance(addition, dict):
        return []
    return [
        (part.name, other.name)
        for other, document in zip(kept, documents, strict=True)
        if _has_conflict(document, addition, ())
    ]


def _build_result(content: str) -> Merged:
    return Merged(content=content, hash=hashlib.sha256(content.encode()).hexdigest())


def _build_header(parts: Sequence[Part]) -> str:
    lines = [f"// fleet: {len(parts)} pipelines\n"]
    for part in parts:
        revision = f" revision {part.revision}" if part.revision else ""
        lines.append(f"//   {_to_one_line(part.name)}{revision}\n")
    return "".join(lines)


def _to_one_line(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _build_component_name(name: str, taken: set[str]) -> str:
    plain = "pipe_" + re.sub(r"[^A-Za-z0-9_]", "_", name)
    if plain not in taken:
        return plain
    return f"{plain}_{hashlib.sha256(name.encode()).hexdigest()[:5]}"


def _build_component(name: str, part: Part, attributes: Mapping[str, str]) -> str:
    contents = part.contents if part.contents.endswith("\n") else part.contents + "\n"
    lines = [f'\ndeclare "{name}" {{\n']
    wanted = uses_attributes(part.contents)
    if wanted and not _DECLARES_ATTRIBUTES.search(part.contents):
        lines.append('  argument "attributes" {\n    optional = true\n    default  = {}\n  }\n')
    lines.append(f'{contents}}}\n{name} "default" {{\n')
    if wanted:
        fields = ", ".join(
            f"{_quote(key)} = {_quote(attributes[key])}" for key in sorted(attributes)
        )
        lines.append(f"  attributes = {{{fields}}}\n")
    lines.append("}\n")
    return "".join(lines)


def _quote(text: str) -> str:
    return '"' + "".join(_escape(character) for character in text) + '"'


def _escape(character: str) -> str:
    if character in _ESCAPES:
        return _ESCAPES[character]
    code = ord(character)
    return character if character.isprintable() else f"\\U{code:08x}"


_UNION = ("service", "extensions")


def _has_conflict(left: Mapping[str, Any], right: Mapping[str, Any], path: tuple[str, ...]) -> bool:
    for key, value in right.items():
        if key not in left or left[key] == value:
            continue
        if isinstance(left[key], dict) and isinstance(value, dict):
            if _has_conflict(left[key], value, (*path, key)):
                return True
        elif (*path, key) != _UNION:
            return True
    return False


def _merge(
    left: Mapping[str, Any], right: Mapping[str, Any], path: tuple[str, ...]
) -> dict[str, Any]:
    merged = dict(left)
    for key, value in right.items():
        if isinstance(merged.get(key), dict) and isinstance(value, dict):
            merged[key] = _merge(merged[key], value, (*path, key))
        elif (*path, key) == _UNION and isinstance(merged.get(key), list):
            merged[key] = list(dict.fromkeys((*merged[key], *value)))
        else:
            merged[key] = value
    return merged
