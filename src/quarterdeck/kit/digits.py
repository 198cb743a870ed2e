"""Whole numbers in texts of others: headers, annotations, flags, addresses."""

_MOST_DIGITS = 18
"""More may not fit into 64 bits."""


def parse_digits(text: str | None) -> int | None:
    """The number that up to 18 ASCII digits write; None for every other text, or none at all.

    `str.isdigit` is no test for `int`: it accepts `²`, and numbers that are too long for `int`.
    """
    if text is not None and len(text) <= _MOST_DIGITS and text.isascii() and text.isdigit():
        return int(text)
    return None
