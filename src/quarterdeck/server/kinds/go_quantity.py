"""Quantities as field errors show them: in the syntax of Go."""

from quarterdeck.kit.quantity import Notation, Quantity
from quarterdeck.meta.field import Bare

_FORMATS = {
    Notation.DECIMAL: "DecimalSI",
    Notation.BINARY: "BinarySI",
    Notation.EXPONENT: "DecimalExponent",
}


def format_go_quantity(amount: Quantity) -> Bare:
    """Format a quantity as Go shows its type."""
    value, scale = amount.nano, -9
    while scale < 0 and value % 1000 == 0:
        value, scale = value // 1000, scale + 3
    text = str(amount)
    return Bare(
        f"resource.Quantity{{i:resource.int64Amount{{value:{value}, scale:{scale}}},"
        f' d:resource.infDecAmount{{Dec:(*inf.Dec)(nil)}}, s:"{text}",'
        f' Format:"{_FORMATS[amount.notation]}"}}'
    )
