"""Recordings of a terminal: a session as asciicast (version 2) and as plain text.

asciinema and its web player show the first; the second is for readers and for tests.
"""

import json
import re
from collections.abc import Iterable
from typing import NamedTuple

WIDTH, HEIGHT = 110, 40
_CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07|\r(?!\n)")


class Output(NamedTuple):
    """What a program wrote, and when, in seconds since the session began."""

    at_s: float
    text: str


def encode_cast(outputs: Iterable[Output], *, title: str) -> str:
    """A session as lines of JSON: a head, then what was written."""
    head = {"version": 2, "width": WIDTH, "height": HEIGHT, "title": title}
    lines = [json.dumps(head)]
    for each in outputs:
        text = each.text.replace("\r\n", "\n").replace("\n", "\r\n")
        lines.append(json.dumps([round(each.at_s, 3), "o", text]))
    return "\n".join(lines) + "\n"


def render_text(outputs: Iterable[Output]) -> str:
    """The same without colors and times."""
    text = "".join(each.text for each in outputs).replace("\r\n", "\n")
    return _CONTROL.sub("", text)
