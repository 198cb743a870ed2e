"""Label selectors; their parser is loaded on first use."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from quarterdeck.wire.label_selector import Selector


def parse_selector(text: str) -> "Selector":
    """Parse a label selector.

    Raises:
        SelectorError: if the text is not a label selector.
    """
    from quarterdeck.wire.label_selector import Selector

    return Selector.parse(text)
