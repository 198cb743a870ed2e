"""Loads a user's module and finds its kinds, controllers and webhooks.

A module is named as Python names it (`shop.operator`) or as a file (`shop/operator.py`). Nothing
has to be registered: kinds and controllers are found by their types at the top of the module.
"""

import hashlib
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.app.errors import SettingError

if TYPE_CHECKING:
    from quarterdeck.meta.objects import Object
    from quarterdeck.runtime import Controller, Webhooks


class Project(NamedTuple):
    """The declarations of one module."""

    name: str
    kinds: "tuple[type[Object], ...]"
    controllers: "tuple[Controller[Any], ...]"
    webhooks: "Webhooks | None"


def load_project(target: str) -> Project:
    """Import a module and find what it declares.

    Raises:
        SettingError: if there is no such module, or importing it fails.
    """
    from quarterdeck.runtime import Controller

    module = load_module(target)
    controllers = tuple(each for each in vars(module).values() if isinstance(each, Controller))
    kinds = {
        f"{each.KIND.plural}/{each.KIND.version}": each
        for each in (*_find_kinds(module), *(each.for_ for each in controllers))
        if each.KIND.group and not each.__module__.startswith("quarterdeck.")
    }
    return Project(
        Path(target).stem.rpartition(".")[2] or target,
        tuple(kinds.values()),
        tuple({id(each): each for each in controllers}.values()),
        _find_webhooks(module),
    )


def load_module(target: str) -> ModuleType:
    """Import `package.module` or `path/to/module.py`; the folder of a file is importable, too."""
    path = Path(target)
    is_file = path.suffix == ".py" or "/" in target
    if is_file:
        if not path.is_file():
            raise SettingError(f"file {target} not found")
        folder, name = path.resolve().parent, path.stem
    else:
        folder, name = Path.cwd(), target
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    try:
        return _import_file(path.resolve(), name) if is_file else importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name == name.partition(".")[0]:
            raise SettingError(
                f"module {target} not found; give a file such as operator.py, or a module that "
                "Python can import from this folder"
            ) from None
        raise SettingError(f"cannot import {target}: {error}") from error
    except Exception as error:
        raise SettingError(f"cannot import {target}: {type(error).__name__}: {error}") from error


def _import_file(path: Path, name: str) -> ModuleType:
    """Import a file, also beside a module that has its name, such as Python's `operator`."""
    taken = sys.modules.get(name)
    if taken is None:
        return importlib.import_module(name)
    if taken.__spec__ is not None and taken.__spec__.origin == str(path):
        return taken
    own_name = f"{name}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"
    if own_name in sys.modules:
        return sys.modules[own_name]
    spec = importlib.util.spec_from_file_location(own_name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path.name} is not a file of Python: its name must end in .py")
    module = sys.modules[own_name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[own_name]
        raise
    return module


def choose_kinds(target: str) -> "Sequence[type[Object]]":
    """The kinds of `MODULE`, or of `MODULE:A,B` only those with these names.

    Raises:
        SettingError: if a name is not a kind, or there are no kinds.
    """
    name, _, wanted = target.partition(":")
    project = load_project(name)
    if not project.kinds:
        raise SettingError(f"{name} declares no kind: a subclass of Object with a KIND")
    if not wanted:
        return project.kinds
    chosen = []
    for each in wanted.split(","):
        named = [kind for kind in project.kinds if each in (kind.KIND.kind, kind.__name__)]
        if not named:
            known = ", ".join(sorted(kind.__name__ for kind in project.kinds))
            raise SettingError(f"{name} declares no kind {each!r}; it declares {known}")
        chosen += named
    return chosen


def _find_kinds(module: ModuleType) -> "list[type[Object]]":
    from quarterdeck.meta.objects import Object

    return [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Object) and hasattr(each, "KIND")
    ]


def _find_webhooks(module: ModuleType) -> "Webhooks | None":
    """The `webhooks` of a module, or the result of its `build_webhooks()`."""
    from quarterdeck.runtime import Webhooks

    found = getattr(module, "webhooks", None)
    if isinstance(found, Webhooks):
        return found
    build = getattr(module, "build_webhooks", None)
    built = build() if callable(build) else None
    return built if isinstance(built, Webhooks) else None
