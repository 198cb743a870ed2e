"""Package faces whose names load when they are first used: start-up pays only for what it needs.

    if TYPE_CHECKING:
        from package.client import Client

    if not TYPE_CHECKING:
        __getattr__ = lazy.attach(__name__, {"client": ("Client",)})

Type checkers read the imports and never see `__getattr__`, so a misspelled name is still an error.
"""

import sys
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module


def attach(package: str, homes: Mapping[str, Iterable[str]]) -> Callable[[str], object]:
    """Build the `__getattr__` of a package from its modules, each with the names it defines.

    The modules themselves can be imported from the package, too; one may list no names.
    """
    places = {name: module for module, names in homes.items() for name in names}

    def load(name: str) -> object:
        if (module := places.get(name)) is not None:
            value: object = getattr(import_module(f"{package}.{module}"), name)
            setattr(sys.modules[package], name, value)
            return value
        if name in homes:
            return import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    return load
