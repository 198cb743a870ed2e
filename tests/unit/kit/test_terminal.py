"""Text from outside on a terminal."""

from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.kit.terminal import escape_controls


def test_escape_sequences_are_shown() -> None:
    assert escape_controls("\x1b]0;owned\x07 \x9b2J \u202egpj.exe") == (
        r"^[]0;owned^G \x9b2J \u202egpj.exe"
    )


def test_ordinary_text_stays() -> None:
    text = "line one\nline\ttwo: grüß dich, 你好"
    assert escape_controls(text) == text


@given(st.text())
def test_nothing_that_acts_is_left(text: str) -> None:
    shown = escape_controls(text)
    assert not any(ord(each) < 0x20 and each not in "\n\t" for each in shown)
    assert not any(0x7F <= ord(each) < 0xA0 for each in shown)
