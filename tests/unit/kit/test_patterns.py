"""Patterns of RE2: what is wrong with one, in the words of Go."""

import pytest

from quarterdeck.kit.patterns import PatternError, compile_re2


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [
        ("[", "missing closing ]: `[`"),
        ("((b)", "missing closing ): `((b)`"),
        (")", "unexpected ): `)`"),
        ("a|*", "missing argument to repetition operator: `*`"),
        ("a**", "invalid nested repetition operator: `**`"),
        ("[z-a]", "invalid character class range: `z-a`"),
        (r"\y", r"invalid escape sequence: `\y`"),
        ("\\", "trailing backslash at end of expression: ``"),
        ("a{2,1}", "invalid repeat count: `{2,1}`"),
        ("(?P<n", "invalid named capture: `(?P<n`"),
        ("(?=a)", "invalid or unsupported Perl syntax: `(?=`"),
    ],
)
def test_errors_are_those_of_go(pattern: str, problem: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_re2(pattern)
    assert str(caught.value) == f"error parsing regexp: {problem}"
