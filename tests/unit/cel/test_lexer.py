"""Where tokens begin and end, in texts that could be read in two ways."""

import pytest

from quarterdeck.cel.syntax.lexer import tokenize


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("b'x'", ["BYTES"]),
        ("bR'x'", ["BYTES"]),
        ("r'x'", ["STRING"]),
        ("rb'x'", ["IDENTIFIER", "STRING"]),
        ("bb'x'", ["IDENTIFIER", "STRING"]),
        ("rab'x'", ["IDENTIFIER", "STRING"]),
        ("b + r", ["IDENTIFIER", "+", "IDENTIFIER"]),
        ("a.b", ["IDENTIFIER", ".", "IDENTIFIER"]),
        ("a.5", ["IDENTIFIER", "NUM_FLOAT"]),
        ("1.a", ["NUM_INT", ".", "IDENTIFIER"]),
        ("a / b // c", ["IDENTIFIER", "/", "IDENTIFIER"]),
        ("a in b", ["IDENTIFIER", "in", "IDENTIFIER"]),
    ],
)
def test_kinds_of_tokens(text: str, kinds: list[str]) -> None:
    tokens, errors = tokenize(text, has_escapes=True)
    assert errors == []
    assert [token.kind for token in tokens] == [*kinds, "EOF"]


def test_prefix_of_a_string_that_does_not_end_is_a_name() -> None:
    tokens, errors = tokenize("b'x", has_escapes=True)
    assert [(token.kind, token.text) for token in tokens] == [("IDENTIFIER", "b"), ("EOF", "<EOF>")]
    assert [error.message for error in errors] == ["token recognition error at: ''x'"]
