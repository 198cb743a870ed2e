"""Descriptions of built-in kinds, for OpenAPI and so for `kubectl explain`.

Ours are short and cover kinds and their most used members (`descriptions.json`). Kubernetes' own
texts are not part of this repository: `make descriptions` builds a package of them from the
published modules, which is used instead if it is installed (docs/decisions/0019).
"""

import functools
import hashlib
import importlib.util
from pathlib import Path

import msgspec

from quarterdeck.meta.builtins import table

PACKAGE = "quarterdeck_kubernetes_descriptions"
_EVERYWHERE = "*"
_FILE = "descriptions.json"

_Texts = dict[str, dict[str, str]]


def describe_type(type_name: str) -> str:
    """The description of a type by its OpenAPI name; empty if there is none."""
    return _find_texts(type_name).get("", "")


def describe_member(type_name: str, member: str) -> str:
    """The description of a member of a type by its OpenAPI name; empty if there is none."""
    name = _to_short_name(type_name)
    return _describe_declared(name, member) or _load().get(_EVERYWHERE, {}).get(member, "")


@functools.cache
def get_checksum() -> str:
    """The hash of the texts: what documents made from them may be cached by."""
    digest = hashlib.sha256()
    for path in _list_files():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _describe_declared(name: str, member: str) -> str:
    """Find the description in the type itself, else in the types that are inlined in it."""
    found = _load().get(name, {}).get(member, "")
    if found or not name or name in table.SPECIAL:
        return found
    for field in table.get_type(name).fields:
        if not field.name:
            found = found or _describe_declared(field.type.lstrip("*#"), member)
    return found


def _find_texts(type_name: str) -> dict[str, str]:
    return _load().get(_to_short_name(type_name), {})


def _to_short_name(type_name: str) -> str:
    try:
        return table.to_short_name(type_name)
    except KeyError:
        return ""


@functools.cache
def _load() -> _Texts:
    texts: _Texts = {}
    for path in _list_files():
        texts |= msgspec.json.decode(path.read_bytes(), type=_Texts)
    return texts


def _list_files() -> list[Path]:
    """Our own file, then the one that wins over it."""
    files = [Path(__file__).with_name(_FILE)]
    installed = importlib.util.find_spec(PACKAGE)
    if installed is not None and installed.origin is not None:
        files.append(Path(installed.origin).with_name(_FILE))
    return files
