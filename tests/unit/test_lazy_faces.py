"""Names of lazy faces: a module of the same name would take a name's place once it is imported."""

import ast
from collections.abc import Iterator
from pathlib import Path

import quarterdeck

SOURCES = Path(quarterdeck.__file__).parent


def list_faces() -> Iterator[tuple[Path, dict[str, tuple[str, ...]]]]:
    """Packages that call `lazy.attach`, with the names that each of their modules gives."""
    for file in sorted(SOURCES.rglob("__init__.py")):
        tree = ast.parse(file.read_text())
        if "lazy.attach(" in ast.unparse(tree):
            yield file.parent, find_homes(tree)


def find_homes(tree: ast.Module) -> dict[str, tuple[str, ...]]:
    """The table that is passed on, itself or by its name."""
    for node in ast.walk(tree):
        match node:
            case ast.Call(ast.Attribute(ast.Name("lazy"), "attach"), [_, ast.Dict() as homes]):
                found: dict[str, tuple[str, ...]] = ast.literal_eval(homes)
                return found
            case ast.Assign([ast.Name("_HOMES")], homes) | ast.AnnAssign(
                ast.Name("_HOMES"), value=ast.expr() as homes
            ):
                found = ast.literal_eval(homes)
                return found
    raise AssertionError("a face without a table")


def find_shadowed(package: Path, homes: dict[str, tuple[str, ...]]) -> list[str]:
    names = [name for given in homes.values() for name in given]
    modules = {path.stem for path in package.iterdir() if path.suffix in ("", ".py")}
    return [f"{package.relative_to(SOURCES)}: {name}" for name in names if name in modules]


def test_no_module_is_called_like_a_name_of_its_face() -> None:
    faces = list(list_faces())
    assert len(faces) > 10, "the faces were found"
    assert [each for face in faces for each in find_shadowed(*face)] == []


def test_module_that_takes_the_place_of_a_name_is_found() -> None:
    package = SOURCES / "kit"
    assert find_shadowed(package, {"clock": ("Clock", "tasks")}) == ["kit: tasks"]
