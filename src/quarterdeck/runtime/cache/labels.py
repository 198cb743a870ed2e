"""Label selectors, whose parser is loaded when somebody selects by labels."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quarterdeck.wire.label_selector import Selector


def parse_selector(text: str) -> "Selector":
    """Read a selector.

    Raises:
        SelectorError: if it is none.
    """
    from quarterdeck.wire.label_selector import Selector

    return Selector.parse(text)
