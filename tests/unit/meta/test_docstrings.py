"""Descriptions are read from source, also while another thread parses."""

import ast
import sys

import pytest

from quarterdeck.meta import docstrings
from quarterdeck.meta.objects import ObjectMeta


def test_parsing_is_tried_again_when_another_thread_disturbs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls = iter([SystemError("AST constructor recursion depth mismatch"), None])
    parse = ast.parse

    def disturbed(source: str) -> ast.Module:
        if (error := next(calls)) is not None:
            raise error
        return parse(source)

    monkeypatch.setattr(ast, "parse", disturbed)
    read = docstrings._read_module.__wrapped__
    assert "ObjectMeta" in read(ObjectMeta.__module__)
    assert ObjectMeta.__module__ in sys.modules
