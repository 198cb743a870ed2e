"""Manifests from files, folders and standard input."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from quarterdeck.cli.exit_codes import REFUSED, CommandError
from quarterdeck.kit import yaml

_ENDINGS = (".yaml", ".yml", ".json")
_FIRST = ("Namespace", "CustomResourceDefinition")


def read(paths: Sequence[str], *, flag: str = "--filename") -> list[dict[str, Any]]:
    """Read every object of the paths; namespaces and definitions first. `flag` is for messages.

    Raises:
        CommandError: naming the file and what is wrong with it.
    """
    files = read_files(paths, flag=flag)
    found = [document for origin, data in files for document in _parse(data, origin)]
    if not found:
        raise CommandError(f"no objects found in the files of {flag}", REFUSED)
    return sorted(found, key=_rank)


def read_given(paths: Sequence[str] | None, kustomization: str) -> list[dict[str, Any]]:
    """Every object that --filename or --kustomize gives.

    Raises:
        CommandError: if not one of the two is given, or it cannot be read.
    """
    if bool(paths) == bool(kustomization):
        raise CommandError("give manifests with --filename, or a folder with --kustomize", REFUSED)
    if paths:
        return read(paths)
    from quarterdeck.cli.kustomize import build_kustomization

    found = list(_parse(build_kustomization(kustomization), kustomization))
    if not found:
        raise CommandError(f"kustomization {kustomization} has no objects", REFUSED)
    return sorted(found, key=_rank)


def _rank(document: dict[str, Any]) -> int:
    kind = document["kind"]
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def read_files(paths: Sequence[str], *, flag: str = "--filename") -> Iterator[tuple[str, bytes]]:
    """Read every file of the paths: its name and its data. `flag` is for messages.

    Raises:
        CommandError: naming the file that cannot be read.
    """
    for path in paths:
        yield from _read_path(path, flag)


def _read_path(text: str, flag: str) -> Iterator[tuple[str, bytes]]:
    if text == "-":
        yield "standard input", sys.stdin.buffer.read()
        return
    path = Path(text).expanduser()
    files = [path]
    if path.is_dir():
        files = sorted(each for each in path.iterdir() if each.suffix in _ENDINGS)
        files = [each for each in files if each.name != "kustomization.yaml"]
    for file in files:
        try:
            data = file.read_bytes()
        except OSError as error:
            reason = error.strerror or str(error)
            raise CommandError(f"cannot read {file} ({flag}): {reason}", REFUSED) from error
        yield str(file), data


def _parse(data: bytes, origin: str) -> Iterator[dict[str, Any]]:
    try:
        documents = list(yaml.load_all(data))
    except yaml.YamlError as error:
        raise CommandError(f"cannot parse {origin} as YAML: {error}", REFUSED) from error
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        yield from _list_objects(document, f"{origin}, document {number}")


def _list_objects(document: object, origin: str) -> Iterator[dict[str, Any]]:
    if not isinstance(document, dict):
        raise CommandError(
            f"{origin}: expected a mapping with apiVersion, kind and metadata", REFUSED
        )
    if document.get("kind") == "List":
        items = document.get("items") or []
        if not isinstance(items, list):
            raise CommandError(f"{origin}: items must be a list, got {items!r}", REFUSED)
        for item in items:
            yield from _list_objects(item, origin)
        return
    metadata = document.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    _check_text("apiVersion", document.get("apiVersion"), origin)
    _check_api_version(document["apiVersion"], origin)
    _check_text("kind", document.get("kind"), origin)
    _check_text("metadata.name", metadata.get("name"), origin)
    _check_text("metadata.namespace", metadata.get("namespace") or "default", origin)
    yield document


def _check_api_version(text: str, origin: str) -> None:
    from quarterdeck.meta.identity import GroupVersion

    try:
        GroupVersion.parse(text)
    except ValueError as error:
        raise CommandError(
            f"{origin}: apiVersion must be VERSION or GROUP/VERSION, got {text!r}", REFUSED
        ) from error


def _check_text(member: str, value: object, origin: str) -> None:
    """Check a member that the path of a request is made of."""
    if value is None or value == "":
        raise CommandError(f"{origin}: {member} is required", REFUSED)
    if not isinstance(value, str):
        raise CommandError(
            f"{origin}: {member} must be a string, got {value!r}: write it in quotes", REFUSED
        )
