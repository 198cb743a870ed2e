"""Quantities as field errors show them: in the syntax of Go."""

from quarterdeck.kit.quantity import Notation, Quantity
from quarterdeck.meta.field import Bare

_ONE = Quantity.of(1).nano
_FORMATS = {
    Notation.DECIMAL: "DecimalSI",
    Notation.BINARY: "BinarySI",
    Notation.EXPONENT: "DecimalExponent",
}


def format_go_quantity(amount: Quantity, *, text: str | None = None) -> Bare:
    """Format a quantity as Go shows its type; `text` is what it remembers of its text.

    How it was written is lost: more than one of something was probably written with a point.
    """
    value, scale = amount.nano, -9
    while scale < 0 and value % 1000 == 0:
        value, scale = value // 1000, scale + 3
    while scale < 0 and abs(amount.nano) > _ONE and value % 10 == 0:
        value, scale = value // 10, scale + 1
    text = str(amount) if text is None else text
    return Bare(
        f"resource.Quantity{{i:resource.int64Amount{{value:{value}, scale:{scale}}},"
        f' d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{text}",'
        f' Format:"{_FORMATS[amount.notation]}"}}'
    )
