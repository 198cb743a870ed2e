"""Names, namespaces and labels of a batch of objects."""

from typing import Any


class Identity:
    """Names, namespaces and labels of a batch, as the objects have them."""

    __slots__ = ("labels", "names", "namespaces")

    def __init__(self, names: list[Any], namespaces: list[Any], labels: list[Any]) -> None:
        self.names = _to_texts(names)
        self.namespaces = _to_texts(namespaces)
        self.labels = labels

    def to_lists(self) -> tuple[list[str], list[str], list[dict[str, str]]]:
        """All three, labels as the row keeps them."""
        labels = [each if type(each) is dict else {} for each in self.labels]
        return self.names, self.namespaces, labels


def _to_texts(column: list[Any]) -> list[str]:
    if set(map(type, column)) <= {str}:
        return column
    return [value if type(value) is str else "" for value in column]
