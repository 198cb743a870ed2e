"""The suites, one module each: a module that defines `SUITE` is a suite, there is no list."""

import pkgutil
from importlib import import_module

from bench.suite import Suite


def names() -> list[str]:
    """What can be run."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def load(name: str) -> Suite:
    """The suite of a module."""
    suite = import_module(f"{__name__}.{name}").SUITE
    if not isinstance(suite, Suite) or suite.name != name:
        raise TypeError(f"bench/suites/{name}.py must define SUITE = Suite(name={name!r}, …)")
    return suite
