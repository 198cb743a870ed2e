"""The types of Kubernetes' own kinds against the table that the server works with."""

from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from quarterdeck import apis
from quarterdeck.apis import core
from quarterdeck.meta import builtins
from quarterdeck.meta.annotations import find_item_type, unwrap
from quarterdeck.meta.objects import Object
from quarterdeck.meta.schema import Node
from quarterdeck.meta.scheme import Scheme
from quarterdeck.meta.type_schema import SchemaError, build_node, build_struct_node

KINDS = [kind for kind in Scheme(modules=apis.KUBERNETES).list_kinds() if kind.KIND.plural]


def disagreements(struct: type[msgspec.Struct], node: Node, path: str) -> Iterator[str]:
    for field in msgspec.structs.fields(struct):
        place = f"{path}.{field.encode_name}"
        known = node.properties.get(field.encode_name)
        if known is None:
            yield f"{place}: no such field"
            continue
        base, _ = unwrap(field.type)
        entry = find_item_type(base)
        if entry is not None:
            if known.items is None:
                yield f"{place}: not a list"
                continue
            known, (base, _) = known.items, unwrap(entry)
        yield from type_disagreements(base, known, place)


def type_disagreements(base: Any, known: Node, place: str) -> Iterator[str]:
    if isinstance(base, type) and issubclass(base, msgspec.Struct):
        yield from disagreements(base, known, place)
    elif base in (str, int, bool, float):
        expected = build_node(base).type
        if known.type not in (expected, "") or (not known.type and not known.int_or_string):
            yield f"{place}: {known.type or 'any'} there, {expected} here"


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.KIND.group}-{kind.__name__}")
def test_field_names_and_types_are_those_of_kubernetes(kind: type[Object]) -> None:
    node = builtins.find_node(kind.KIND.gvk)
    if node is None:
        pytest.skip("the table does not have this kind")
    assert list(disagreements(kind, node, kind.__name__)) == []


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.KIND.group}-{kind.__name__}")
def test_names_and_scope_are_those_of_kubernetes(kind: type[Object]) -> None:
    info = kind.KIND
    found = [resource for resource in builtins.list_resources() if resource.kind == info.gvk]
    if not found:
        pytest.skip("the table does not have this kind")
    (resource,) = found
    assert (resource.gvr.resource, resource.namespaced) == (info.plural, info.is_namespaced)
    assert tuple(resource.short_names) == info.short_names


def test_every_name_of_the_face_is_there() -> None:
    for name in core.__all__:
        assert getattr(core, name) is not None
    with pytest.raises(AttributeError, match="Gizmo"):
        getattr(core, "Gizmo")  # noqa: B009


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: f"{kind.KIND.group}-{kind.__name__}")
def test_every_kind_has_a_schema_for_its_builder(kind: type[Object]) -> None:
    try:
        build_struct_node(kind, "")
    except SchemaError as error:
        pytest.fail(str(error))
