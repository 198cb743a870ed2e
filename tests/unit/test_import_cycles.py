"""Modules never import each other in a circle, not even for type checking alone."""

from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

import grimp
import pytest

PACKAGES = ("apis", "cel", "client", "codegen", "kit", "meta", "storage", "telemetry", "wire")


@pytest.fixture(scope="module")
def graph() -> grimp.ImportGraph:
    return grimp.build_graph("quarterdeck", cache_dir=None)


def find_cycle(imports: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


@pytest.mark.parametrize("package", PACKAGES)
def test_a_package_has_no_import_cycle(graph: grimp.ImportGraph, package: str) -> None:
    root = f"quarterdeck.{package}"
    modules = {root, *graph.find_descendants(root)}
    imports = {
        module: graph.find_modules_directly_imported_by(module) & modules for module in modules
    }
    assert find_cycle(imports) == []


def test_a_cycle_would_be_found() -> None:
    assert set(find_cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": set()})) == {"a", "b", "c"}
