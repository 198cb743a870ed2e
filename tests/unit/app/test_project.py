"""What a user's own module declares, and what is wrong with one that cannot be used."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from quarterdeck.app.dev import scan_sources
from quarterdeck.app.errors import SettingError
from quarterdeck.app.project import choose_kinds, load_module, load_project
from quarterdeck.app.scaffold import choose_names, write_project
from quarterdeck.cli.main import run


@pytest.fixture(autouse=True)
def _imports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Modules of a test are forgotten after it, and the folder is the current one."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield
    for name, module in list(sys.modules.items()):
        if (getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


def test_project_that_was_written_declares_its_kind(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_project(tmp_path / "shop", choose_names("tea-party", group="example.org"))
    target = str(tmp_path / "shop" / "tea_party.py")
    project = load_project(target)
    assert [kind.KIND.kind for kind in project.kinds] == ["TeaParty"]
    assert [kind.KIND.kind for kind in choose_kinds(f"{target}:TeaParty")] == ["TeaParty"]
    assert choose_kinds(target) == project.kinds
    assert run(["crds", target, "-o", "name"]) == 0
    assert capsys.readouterr().out == "teaparties.example.org\n"
    with pytest.raises(SettingError, match="declares no kind 'Cup'; it declares TeaParty"):
        choose_kinds(f"{target}:TeaParty,Cup")
    with pytest.raises(SettingError, match="is not empty; choose another folder with --folder"):
        write_project(tmp_path / "shop", choose_names("tea-party"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("import absent_library", "cannot import bad.py: No module named 'absent_library'"),
        ("1 / 0", "cannot import bad.py: ZeroDivisionError: division by zero"),
    ],
)
def test_module_that_cannot_be_imported_says_why(tmp_path: Path, text: str, words: str) -> None:
    (tmp_path / "bad.py").write_text(text)
    with pytest.raises(SettingError, match=words):
        load_module("bad.py")


def test_module_that_is_absent_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"file absent/operator\.py not found"):
        load_module("absent/operator.py")
    with pytest.raises(SettingError, match=r"module absent_operator\.one not found; give a file"):
        load_module("absent_operator.one")


def test_module_without_kinds_is_refused(tmp_path: Path) -> None:
    (tmp_path / "empty_module.py").write_text("")
    with pytest.raises(SettingError, match="empty_module declares no kind: a subclass of Object"):
        choose_kinds("empty_module")


def test_webhooks_are_found_by_name_or_built(tmp_path: Path) -> None:
    (tmp_path / "hooks_named.py").write_text(
        "from quarterdeck.runtime import Webhooks\nwebhooks = Webhooks()\n"
    )
    (tmp_path / "hooks_built.py").write_text(
        "from quarterdeck.runtime import Webhooks\ndef build_webhooks():\n    return Webhooks()\n"
    )
    assert load_project("hooks_named").webhooks is not None
    assert load_project("hooks_built").webhooks is not None


@pytest.mark.parametrize(
    ("name", "kind", "group", "words"),
    [
        ("9", "", "example.com", "invalid name '9'"),
        ("a", "lower", "example.com", "invalid kind 'lower': use CamelCase"),
        ("a", "", "local", "invalid group 'local': use a domain you own"),
        ("a", "", "Shop.example.com", "invalid group 'Shop.example.com': use a domain"),
        ("a", "", 'a".b', "invalid group 'a\".b': use a domain"),
        ("a", "", "a b.c", "invalid group 'a b.c': use a domain"),
    ],
)
def test_names_that_kubernetes_refuses_are_refused(
    name: str, kind: str, group: str, words: str
) -> None:
    with pytest.raises(SettingError, match=words):
        choose_names(name, kind=kind, group=group)


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("class", "", "invalid name 'class': Python has a module class already"),
        ("asyncio", "", "invalid name 'asyncio': .* choose another, such as asyncio-operator"),
        ("quarterdeck", "", "invalid name 'quarterdeck'"),
        ("pytest", "Suite", "invalid name 'pytest'"),
        ("a", "None", "invalid kind 'None': .* another with --kind, such as MyNone"),
        ("context", "", "invalid kind 'Context'"),
        ("a", "ConfigMap", "invalid kind 'ConfigMap'"),
    ],
)
def test_names_that_python_has_already_are_refused(name: str, kind: str, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        choose_names(name, kind=kind)


def test_all_names_of_the_module_and_its_test_are_refused_as_kinds(tmp_path: Path) -> None:
    write_project(tmp_path, choose_names("tea-party"))
    for file in ("tea_party.py", "test_tea_party.py"):
        tree = ast.parse((tmp_path / file).read_text())
        imports = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
        for name in (alias.name for node in imports for alias in node.names):
            if name[0].isupper() and not name.startswith("TeaParty"):
                with pytest.raises(SettingError, match=f"invalid kind '{name}'"):
                    choose_names("a", kind=name)


def test_file_is_loaded_although_python_has_a_module_of_its_name(tmp_path: Path) -> None:
    write_project(tmp_path / "shop", choose_names("tea-party"))
    (tmp_path / "shop" / "tea_party.py").rename(tmp_path / "shop" / "operator.py")
    project = load_project("shop/operator.py")
    assert [kind.KIND.kind for kind in project.kinds] == ["TeaParty"]
    assert len(project.controllers) == 1
    assert load_project("shop/operator.py").kinds == project.kinds
    (tmp_path / "shop" / "json.py").write_text("1 / 0")
    with pytest.raises(SettingError, match=r"cannot import shop/json\.py: ZeroDivisionError"):
        load_module("shop/json.py")


@pytest.mark.parametrize(
    ("kind", "plural"), [("Policy", "policies"), ("Box", "boxes"), ("Key", "keys")]
)
def test_plurals_follow_english(kind: str, plural: str) -> None:
    assert choose_names("a", kind=kind).plural == plural


def test_sources_beside_a_target_are_found(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    for file in ("shop/__init__.py", "shop/operator.py", "other.py"):
        (tmp_path / file).touch()
    (tmp_path / "shop/gone.py").symlink_to("nowhere.py")
    inside = {Path("shop/__init__.py"), Path("shop/operator.py")}
    assert set(scan_sources("shop.operator")) == inside
    assert set(scan_sources("shop/operator.py")) == inside
    assert set(scan_sources("other")) == {*inside, Path("other.py")}


def test_sources_of_others_are_not_looked_at(tmp_path: Path) -> None:
    (tmp_path / "operator.py").touch()
    for folder in (".venv/lib", "environment/lib", "web/node_modules/gyp", ".git"):
        (tmp_path / folder).mkdir(parents=True)
        (tmp_path / folder / "module.py").touch()
    (tmp_path / "environment/pyvenv.cfg").touch()
    assert set(scan_sources("operator.py")) == {Path("operator.py")}
