"""Generated code with the kinds of its result, and rewrites that the kinds allow."""

from typing import NamedTuple

from quarterdeck.engine.values import BOOL, LIST, NULL, NUMBER, TEXT

NUMERIC = NUMBER | BOOL
EMPTY_TEXT = "''"
ZERO = "0.0"


class Code(NamedTuple):
    """Generated code, the kinds of its result, and whether repeating it costs nothing."""

    text: str
    kinds: int
    is_atom: bool = False

    @property
    def is_nullable(self) -> bool:
        """Whether it may give null."""
        return bool(self.kinds & NULL)


NOTHING = Code("None", NULL, is_atom=True)


def write_literal(value: object) -> Code:
    """Code for a literal."""
    if value is None:
        return NOTHING
    if isinstance(value, bool):
        return Code(repr(value), BOOL, is_atom=True)
    if isinstance(value, str):
        return Code(repr(value), TEXT, is_atom=True)
    return Code(repr(value), NUMBER, is_atom=True)


def write_number(code: Code) -> Code:
    """Code for a number or null; what is neither a number nor a boolean is null."""
    if not code.kinds & ~(NUMBER | NULL):
        return code
    if code.kinds == BOOL:
        return Code(f"(1.0 if {code.text} else 0.0)", NUMBER)
    if not code.kinds & NUMERIC:
        return NOTHING
    return Code(f"to_number({code.text})", NUMBER | NULL)


def write_list(code: Code) -> Code:
    """Code for a list or null; what is not a list is null."""
    if not code.kinds & ~(LIST | NULL):
        return code
    if not code.kinds & LIST:
        return NOTHING
    return Code(f"to_list({code.text})", LIST | NULL)


def replace_null(code: Code, empty: str) -> str:
    """Code in which null is replaced by an empty value of the other side's kind."""
    if code.kinds == NULL:
        return empty
    return f"({code.text} or {empty})" if code.is_nullable else code.text


def is_nonzero(text: str) -> bool:
    """Whether code is a literal number other than zero."""
    try:
        return float(text) != 0
    except ValueError:
        return False
