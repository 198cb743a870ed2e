"""Which namespaces a source reads: patterns with `*` and `?`, where exclusion wins."""

from collections.abc import Sequence

from quarterdeck.kit.patterns import Pattern, compile_re2

_WILDCARDS = frozenset("*?")
_SPECIAL = frozenset(r"\.+()[]{}|^$")


def compile_wildcard(pattern: str) -> Pattern:
    """A pattern that must match the whole name: `*` is any text, `?` any one character."""
    return compile_re2("(?s)" + "".join(map(_translate, pattern)))


def _translate(character: str) -> str:
    match character:
        case "*":
            return ".*"
        case "?":
            return "."
        case _ if character in _SPECIAL:
            return "\\" + character
        case _:
            return character


class NamespaceFilter:
    """Decides by name whether a namespace is read; results are cached."""

    __slots__ = ("_exclude", "_include", "_known", "names")

    names: tuple[str, ...] | None
    """The namespaces to list one by one; None means one list over the whole cluster, filtered."""

    def __init__(self, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> None:
        self._include = [compile_wildcard(pattern) for pattern in include]
        self._exclude = [compile_wildcard(pattern) for pattern in exclude]
        self._known: dict[str, bool] = {}
        exact = bool(include) and not exclude and not _WILDCARDS & set("".join(include))
        self.names = tuple(dict.fromkeys(include)) if exact else None

    @property
    def accepts_all(self) -> bool:
        """Whether nothing is left out."""
        return not self._include and not self._exclude

    def matches(self, name: str) -> bool:
        """Whether the namespace is read; "" stands for cluster-scoped objects."""
        known = self._known.get(name)
        if known is None:
            known = self._known[name] = self._decide(name)
        return known

    def _decide(self, name: str) -> bool:
        if any(pattern.fullmatch(name) for pattern in self._exclude):
            return False
        return not self._include or any(pattern.fullmatch(name) for pattern in self._include)
