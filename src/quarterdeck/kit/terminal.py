"""Text from outside, safe to show on a terminal.

Names, messages and fields of objects are written by others. Control characters in them could move
the cursor, hide text, or change the title of the window.
"""

import re

_CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_ACTING_IN_JSON = re.compile(r"[\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def escape_controls(text: str) -> str:
    """The text with control and direction characters visible, the escape character as `^[`.

    Tabs and line ends stay.
    """
    return _CONTROLS.sub(_show, text)


def escape_json(text: str) -> str:
    """Escape the control and direction characters that JSON allows unescaped.

    The meaning stays the same, because JSON parsers decode the escapes.
    """
    return _ACTING_IN_JSON.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _show(match: re.Match[str]) -> str:
    code = ord(match[0])
    if code < 0x20:
        return "^" + chr(code + 0x40)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
