"""The committed table of Go types, read lazily and one type at a time.

The file has names, types, tags and markers only; `tools/builtins` writes it. A type is parsed on
first use, so a process that serves ten kinds parses only their types.

There is one file for each release of Kubernetes that a process can emulate. `choose_release`, or
else an environment variable, selects it before the first use.

Expressions in the file: `*T` pointer, `[]T` slice, `{}T` map with string keys, `#pkg.T` a named
type, and the scalars `string bool int32 int64 uint32 float64 bytes`.
"""

import functools
import os
from typing import Any

import msgspec

from quarterdeck.meta.release import RELEASES, get_release, set_release

SPECIAL = frozenset(
    {
        "meta/v1.Time",
        "meta/v1.MicroTime",
        "meta/v1.Duration",
        "meta/v1.FieldsV1",
        "resource.Quantity",
        "intstr.IntOrString",
        "runtime.RawExtension",
        "runtime.Object",
        "apiextensions/v1.JSON",
        "apiextensions/v1.JSONSchemaPropsOrArray",
        "apiextensions/v1.JSONSchemaPropsOrBool",
        "apiextensions/v1.JSONSchemaPropsOrStringArray",
    }
)
"""Types with their own JSON encoding in Go, which users of the table handle by name."""


class Field(msgspec.Struct, frozen=True):
    """One field of a Go struct; an empty name means that its members are inlined in the parent."""

    name: str
    type: str
    omit_empty: bool
    required: bool
    tag: int
    omit_zero: bool = False
    strategy: str = ""
    merge_key: str = ""
    list_type: str = ""
    list_map_keys: tuple[str, ...] = ()
    map_type: str = ""
    default: Any = msgspec.UNSET


class GoType(msgspec.Struct, frozen=True):
    """A named Go type: a struct with fields, or another name for an expression."""

    name: str
    fields: tuple[Field, ...] = ()
    alias: str = ""
    map_type: str = ""
    wrapped: bool = False
    """Whether protobuf wraps the slice in a message, so that null and empty differ."""


class _File(msgspec.Struct):
    modules: dict[str, str]
    groups: dict[str, str]
    packages: dict[str, str]
    resources: dict[str, msgspec.Raw]
    types: dict[str, msgspec.Raw]


def choose_release(release: str) -> None:
    """Set the release of this process; must be called before built-in kinds are read.

    Raises:
        ValueError: if the release is unknown, or the table of another one was read already.
    """
    if release not in RELEASES:
        known = ", ".join(RELEASES)
        raise ValueError(f"unknown Kubernetes version {release!r}: must be one of {known}")
    if release != get_release() and _load_file.cache_info().currsize:
        raise ValueError(
            f"cannot change the Kubernetes version to {release}: built-in kinds of"
            f" {get_release()} were read already; start another process"
        )
    set_release(release)


@functools.cache
def _load_file() -> _File:
    return msgspec.json.decode(_read(f"{RELEASES[get_release()]}.json"), type=_File)


def _read(name: str) -> bytes:
    with open(os.path.join(os.path.dirname(__file__), name), "rb") as file:
        return file.read()


@functools.cache
def get_type(name: str) -> GoType:
    """The type of that short name (`core/v1.Pod`); `KeyError` if the table has none."""
    described = msgspec.json.decode(_load_file().types[name])
    if "is" in described and described["is"][1:] in _load_file().types:
        return get_type(described["is"][1:])  # another name for a type of another version
    if "is" in described:
        return GoType(name=name, alias=described["is"], wrapped="items" in described)
    fields = tuple(_parse_field(item) for item in described["fields"])
    return GoType(name=name, fields=fields, map_type=described.get("map", ""))


def _parse_field(item: list[Any]) -> Field:
    name, expression, flags, tag, *rest = item
    more = rest[0] if rest else {}
    return Field(
        name=name,
        type=expression,
        omit_empty="o" in flags,
        required="r" in flags,
        tag=tag,
        omit_zero="z" in flags,
        strategy=more.get("strategy", ""),
        merge_key=more.get("key", ""),
        list_type=more.get("list", ""),
        list_map_keys=tuple(more.get("keys", ())),
        map_type=more.get("map", ""),
        default=more.get("default", msgspec.UNSET),
    )


def find_kind_type(api_version: str, kind: str) -> str | None:
    """The short name of the type of a kind; kinds of meta/v1 exist in every group."""
    file = _load_file()
    package = file.groups.get(api_version)
    if package is not None and f"{package}.{kind}" in file.types:
        return _find_kind(f"{package}.{kind}")
    if package is not None and f"meta/v1.{kind}" in file.types:
        return _find_kind(f"meta/v1.{kind}")
    return None


def _find_kind(name: str) -> str | None:
    fields = get_type(name).fields
    return name if any(field.type == "#meta/v1.TypeMeta" for field in fields) else None


def list_kinds(api_version: str) -> tuple[str, ...]:
    """The kinds a group version declares itself, lists included."""
    package = _load_file().groups.get(api_version)
    prefix = f"{package}."
    names = (name for name in _load_file().types if name.startswith(prefix))
    return tuple(name[len(prefix) :] for name in names if _find_kind(name))


def list_api_versions() -> tuple[str, ...]:
    """Every group version of the table."""
    return tuple(_load_file().groups)


def to_openapi_name(name: str) -> str:
    """The name of a type in OpenAPI documents: `io.k8s.api.core.v1.Pod`."""
    package, _, type_name = name.rpartition(".")
    return f"{_load_file().packages[package]}.{type_name}"


@functools.cache
def to_short_name(openapi: str) -> str:
    """The table's name for an OpenAPI name; `KeyError` if the package is not in the table."""
    package, _, type_name = openapi.rpartition(".")
    return f"{_map_packages()[package]}.{type_name}"


@functools.cache
def _map_packages() -> dict[str, str]:
    return {full: short for short, full in _load_file().packages.items()}


def to_go_name(name: str) -> str:
    """A type as Go prints it: `v1.LabelSelector`, `resource.Quantity`."""
    return name.rpartition("/")[2]


def format_go_type(expression: str) -> str:
    """A type expression as Go prints it."""
    if expression.startswith("*"):
        return "*" + format_go_type(expression[1:])
    if expression.startswith("[]"):
        return "[]" + format_go_type(expression[2:])
    if expression.startswith("{}"):
        return "map[string]" + format_go_type(expression[2:])
    if expression.startswith("#"):
        return to_go_name(expression[1:])
    return "[]uint8" if expression == "bytes" else expression


def load_discovery() -> dict[str, msgspec.Raw]:
    """The recorded resources by group version, not yet parsed."""
    return _load_file().resources


def get_checksum() -> str:
    """The recorded hash of the table: what documents made from it may be cached by."""
    return _read(f"{RELEASES[get_release()]}.sha256").decode().strip()


def verify() -> list[str]:
    """What is wrong with the committed tables: empty when they are those that were generated."""
    import hashlib  # for this check alone, and it loads OpenSSL

    problems = []
    for name in RELEASES.values():
        actual = hashlib.sha256(_read(f"{name}.json")).hexdigest()
        recorded = _read(f"{name}.sha256").decode().strip()
        if actual != recorded:
            problems.append(
                f"meta/builtins/{name}.json: sha256 is {actual}, {name}.sha256 says {recorded};"
                " run tools/builtins again instead of editing the table"
            )
    return problems
