"""Lazy faces, and every face of ours: what it promises is there."""

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from quarterdeck.kit import lazy

FACES = [
    "apis.core",
    "cel",
    "client",
    "engine",
    "kit.http",
    "meta.structural",
    "operators.machines",
    "runtime",
    "server",
    "server.kinds",
    "server.lifecycle",
    "storage",
    "testing",
]


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = "lazily_loaded"
    folder = tmp_path / name
    folder.mkdir()
    (folder / "__init__.py").write_text(
        "from quarterdeck.kit import lazy\n"
        "__getattr__ = lazy.attach(__name__, {'one': ('first', 'second'), 'two': ()})\n"
    )
    (folder / "one.py").write_text("first = object()\nsecond = object()\n")
    (folder / "two.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for module in ("", ".one", ".two"):
        monkeypatch.delitem(sys.modules, name + module, raising=False)
    return name


def test_a_name_loads_its_module_when_first_used(package: str) -> None:
    face = import_module(package)
    assert f"{package}.one" not in sys.modules
    assert face.first is sys.modules[f"{package}.one"].first
    assert "first" in vars(face) and "second" not in vars(face)


def test_modules_are_part_of_the_face(package: str) -> None:
    assert import_module(package).two is sys.modules[f"{package}.two"]


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'p' has no attribute 'x'"):
        lazy.attach("p", {"one": ("first",)})("x")


@pytest.mark.parametrize("name", FACES)
def test_every_name_of_a_face_can_be_had(name: str) -> None:
    face = import_module(f"quarterdeck.{name}")
    homes: dict[str, tuple[str, ...]] = getattr(face, "_HOMES", {})
    promised = {
        *getattr(face, "__all__", ()),
        *(each for names in homes.values() for each in names),
    }
    for each in promised:
        assert hasattr(face, each), each
    if homes and hasattr(face, "__all__"):
        assert promised == set(face.__all__)


def test_importing_a_face_loads_nothing_behind_it() -> None:
    faces = [f"quarterdeck.{name}" for name in FACES if not name.startswith("apis.")]
    code = f"import sys, {', '.join(faces)}; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("quarterdeck.")}
    parents = {face.rpartition(".")[0] for face in faces}
    assert loaded - {*faces, *parents} == {"quarterdeck.kit.lazy"}
