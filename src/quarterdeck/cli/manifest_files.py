"""Manifests from files, folders and standard input."""

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quarterdeck.cli.command import CommandError
from quarterdeck.kit import yaml

Files = Annotated[
    list[str],
    typer.Option("--filename", "-f", metavar="PATH", help="File, folder, or - for stdin."),
]
_ENDINGS = (".yaml", ".yml", ".json")
_FIRST = ("Namespace", "CustomResourceDefinition")


def read(paths: Sequence[str]) -> list[dict[str, Any]]:
    """Every object in them; namespaces and definitions come first.

    Raises:
        CommandError: naming the file and what is wrong with it.
    """
    found = [document for path in paths for document in _of_path(path)]
    if not found:
        raise CommandError("there is no object in what --filename names", 2)
    return sorted(found, key=_rank)


def _rank(document: dict[str, Any]) -> int:
    kind = document["kind"]
    return _FIRST.index(kind) if kind in _FIRST else len(_FIRST)


def _of_path(text: str) -> Iterator[dict[str, Any]]:
    if text == "-":
        yield from _parse(sys.stdin.buffer.read(), "standard input")
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
            raise CommandError(f"cannot read {file} (--filename): {reason}", 2) from error
        yield from _parse(data, str(file))


def _parse(data: bytes, where: str) -> Iterator[dict[str, Any]]:
    try:
        documents = list(yaml.load_all(data))
    except yaml.YamlError as error:
        raise CommandError(f"{where} is not YAML: {error}", 2) from error
    for number, document in enumerate(documents, start=1):
        if document is None:
            continue
        yield from _objects(document, f"{where}, document {number}")


def _objects(document: object, where: str) -> Iterator[dict[str, Any]]:
    if not isinstance(document, dict):
        raise CommandError(f"{where} is not an object", 2)
    if document.get("kind") == "List":
        for item in document.get("items") or ():
            yield from _objects(item, where)
        return
    for member in ("apiVersion", "kind"):
        if not isinstance(document.get(member), str):
            raise CommandError(f"{where} has no {member}: add it", 2)
    metadata = document.get("metadata")
    if not isinstance(metadata, dict) or not metadata.get("name"):
        raise CommandError(f"{where} has no metadata.name: add it", 2)
    yield document
