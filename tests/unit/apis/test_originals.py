"""Our definitions beside those of the five originals: whatever they hold, ours hold too."""

from collections.abc import Iterator, Mapping
from typing import Any

import originals
import pytest

from quarterdeck import apis
from quarterdeck.meta import crd

SCAFFOLDS = {"machineclaims.hypervisor.hyperfleet.io", "runnerpools.hypervisor.hyperfleet.io"}
"""Kinds that the original declares and does nothing with: one field, `foo`, without a meaning."""
DEFAULTED_NAMES = "hypervisorclusters.hypervisor.hyperfleet.io"
"""The original fills the name of a Secret with an empty string, which names no Secret."""


def ours(name: str) -> dict[str, Any]:
    kinds = [
        each
        for each in apis.own_scheme().list_kinds()
        if f"{each.KIND.plural}.{each.KIND.group}" == name
    ]
    [document] = crd.build_manifests(kinds)
    return document


def compare(path: str, theirs: Mapping[str, Any], mine: Mapping[str, Any]) -> Iterator[str]:
    """What of their schema is not in ours, in words."""
    if theirs.get("type") != mine.get("type") and "x-kubernetes-int-or-string" not in mine:
        yield f"{path}: type {mine.get('type')}, expected {theirs.get('type')}"
    allowed = set(mine.get("enum", ()))
    if allowed and not allowed >= set(theirs.get("enum", ())):
        yield f"{path}: enum lacks {sorted(set(theirs['enum']) - allowed)}"
    if not path.startswith("status"):
        for field in set(mine.get("required", ())) - set(theirs.get("required", ())):
            yield f"{path}: requires {field}"
    for field, schema in theirs.get("properties", {}).items():
        if field in mine.get("properties", {}):
            yield from compare(f"{path}.{field}", schema, mine["properties"][field])
        elif "x-kubernetes-preserve-unknown-fields" not in mine:
            yield f"{path}.{field}: missing"
    for member in ("items", "additionalProperties"):
        if isinstance(theirs.get(member), dict) and isinstance(mine.get(member), dict):
            yield from compare(f"{path}[]", theirs[member], mine[member])


@pytest.mark.parametrize("name", originals.NAMES)
def test_names_and_scope_are_those_of_the_original(name: str) -> None:
    theirs, mine = originals.read_definition(name)["spec"], ours(name)["spec"]
    assert (mine["group"], mine["scope"]) == (theirs["group"], theirs["scope"])
    for member in ("kind", "plural", "singular"):
        assert mine["names"][member] == theirs["names"][member]
    assert set(theirs["names"].get("shortNames", ())) <= set(mine["names"].get("shortNames", ()))
    served = {each["name"] for each in mine["versions"] if each["served"]}
    assert served >= {each["name"] for each in theirs["versions"]}


@pytest.mark.parametrize("name", sorted(set(originals.NAMES) - SCAFFOLDS))
def test_every_field_and_value_of_the_original_is_in_ours(name: str) -> None:
    theirs = originals.read_definition(name)["spec"]["versions"][0]
    [mine] = [each for each in ours(name)["spec"]["versions"] if each["name"] == theirs["name"]]
    found: list[str] = []
    for part in ("spec", "status"):
        schemas = [each["schema"]["openAPIV3Schema"]["properties"] for each in (theirs, mine)]
        if part in schemas[0]:
            found += compare(part, schemas[0][part], schemas[1][part])
    if name == DEFAULTED_NAMES:
        found = [each for each in found if not each.endswith("requires name")]
    assert found == []
