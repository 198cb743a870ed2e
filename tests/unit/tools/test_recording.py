"""Recordings of a terminal: the form that players read, and the text that people read."""

import json

from recording import Output, encode_cast, render_text

SESSION = [Output(0.0, "$ true\n"), Output(1.23456, "\x1b[32mok\x1b[0m\r\n")]


def test_a_cast_has_a_head_and_an_event_for_each_output() -> None:
    head, *events = [json.loads(line) for line in encode_cast(SESSION, title="t").splitlines()]
    assert (head["version"], head["title"]) == (2, "t")
    assert events == [[0.0, "o", "$ true\r\n"], [1.235, "o", "\x1b[32mok\x1b[0m\r\n"]]


def test_the_text_has_no_control_sequences() -> None:
    assert render_text(SESSION) == "$ true\nok\n"
