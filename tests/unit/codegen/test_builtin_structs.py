"""Generated structs have the members of the Go types, and read what the API server writes."""

from importlib import import_module
from typing import Any

import msgspec
import pytest

from quarterdeck.codegen.builtin_groups import GROUPS, list_kinds, list_members
from quarterdeck.meta import release
from quarterdeck.meta.objects import Object


def list_generated() -> list[Any]:
    found = []
    for name, group in GROUPS.items():
        module = import_module(f"quarterdeck.apis.kubernetes.{name}")
        for each in module.__all__:
            kind = getattr(module, each)
            if kind.__module__ == module.__name__:
                found.append(pytest.param(f"{group.package}.{each}", kind, id=f"{name}.{each}"))
    return found


@pytest.mark.parametrize(("type_name", "kind"), list_generated())
def test_members_have_the_names_of_the_wire(type_name: str, kind: type[msgspec.Struct]) -> None:
    wanted = {each.name for each in list_members(type_name)}
    fields = {field.encode_name for field in msgspec.structs.fields(kind)}
    assert fields - {"apiVersion", "kind", "metadata"} == wanted - {
        "apiVersion",
        "kind",
        "metadata",
    }


def test_every_kind_of_the_groups_is_there() -> None:
    for name, group in GROUPS.items():
        module = import_module(f"quarterdeck.apis.kubernetes.{name}")
        for kind in list_kinds(group.api_version):
            assert issubclass(getattr(module, kind), Object), kind


def test_the_table_is_the_default_one() -> None:
    assert release.get_release() == "1.32"
