"""The fast engine may only take patterns on which it agrees with RE2, and stays linear."""

import re

import pytest
from example_counts import count_examples
from hypothesis import given, settings
from hypothesis import strategies as st

from quarterdeck.cel.compiler.patterns import compile_search
from quarterdeck.kit.patterns import PatternError, compile_re2

_PIECES = st.sampled_from(
    [
        "a", "b", "[a-c]", "[^a]", "[a-z0-9]", r"\d", r"\w", r"\.", r"\-", ".", "*", "+", "?",
        "{2}", "{1,3}", "{2,}", "(", ")", "(?:", "|", "$", "^", r"\s", "[-a]", "[.]", r"[\w-]",
        "[]", "[a", "é", " ", r"\b", "(?i)", "*?", "\\", "[[:alpha:]]", "-", "/",
    ]
)  # fmt: skip
_TEXTS = st.text(alphabet="ab1_-./ \né$^A", max_size=8)


@settings(max_examples=count_examples(1500), deadline=None)
@given(pieces=st.lists(_PIECES, max_size=7), text=_TEXTS, ends=st.booleans())
def test_both_engines_agree(pieces: list[str], text: str, *, ends: bool) -> None:
    pattern = "^" + "".join(pieces) + ("$" if ends else "")
    try:
        expected = compile_re2(pattern).search(text)
    except PatternError:
        with pytest.raises(PatternError):
            compile_search(pattern)
        return
    assert bool(compile_search(pattern)(text)) == expected


def _is_fast(pattern: str) -> bool:
    return isinstance(getattr(compile_search(pattern), "__self__", None), re.Pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "^[a-z0-9./:-]+$",
        "^[a-z]([-a-z0-9]*[a-z0-9])?$",
        "^(get|list|watch)$",
        "^v[0-9]{1,3}$",
        "^a",
    ],
)
def test_usual_patterns_are_fast(pattern: str) -> None:
    assert _is_fast(pattern)


@pytest.mark.parametrize(
    "pattern",
    [
        "a",
        "^(a+)+$",
        "^a*a*$",
        "^(a|b)*$",
        "^a|b$",
        r"^\s$",
        "^(a{1,2}){9}$",
        "^a{300}$",
        "^é$",
        "^a{0,99}a{0,99}a{0,99}$",
        "^" + "a?" * 20 + "$",
    ],
)
def test_others_are_left_to_re2(pattern: str) -> None:
    assert not _is_fast(pattern)


def test_the_worst_of_the_fast_patterns_is_linear() -> None:
    pattern = "^(a|b)?(a|b)?a*(a|b)?(a|b)?x$"
    assert _is_fast(pattern)
    assert not compile_search(pattern)("a" * 200_000)


def test_anchors_and_escapes_mean_the_same_in_both_engines() -> None:
    assert not compile_search("^a$")("a\n")
    assert not compile_search(r"^\d$")("٣")
    assert compile_search(r"^\$")("$") and not compile_search(r"^\$")("")
    assert compile_search(r"^\\$")("\\") and not compile_search(r"^\\$")("$")
