"""Modules of the package are imported as Python does it, other modules as pytest does."""

import importlib.machinery
import sys

import pytest

from quarterdeck.kit import http
from quarterdeck.testing import plain_imports


def test_pytest_does_not_rewrite_modules_of_the_package() -> None:
    assert not type(http.__loader__).__module__.startswith("_pytest.")
    assert type(sys.modules[__name__].__loader__).__module__.startswith("_pytest.")


def test_the_finder_is_asked_just_before_that_of_pytest(monkeypatch: pytest.MonkeyPatch) -> None:
    rewriting = next(each for each in sys.meta_path if type(each).__module__.startswith("_pytest."))
    first, last = importlib.machinery.BuiltinImporter, importlib.machinery.PathFinder
    monkeypatch.setattr(sys, "meta_path", [first, rewriting, last])
    for _ in range(2):
        plain_imports.install()
    assert len(sys.meta_path) == 4
    assert sys.meta_path[2:] == [rewriting, last]


def test_without_rewriting_nothing_is_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    finders = [importlib.machinery.PathFinder]
    monkeypatch.setattr(sys, "meta_path", finders)
    plain_imports.install()
    assert finders == [importlib.machinery.PathFinder]
