"""Sorts computed fields by their dependencies, and finds cycles."""

from collections.abc import Mapping


class CycleError(ValueError):
    """Raised when fields depend on each other; `path` begins and ends with the same name."""

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path = path
        super().__init__(" → ".join(path))


def sort_topologically(needs: Mapping[str, frozenset[str]]) -> list[str]:
    """Sort names so that each follows the names it needs; otherwise in the given order.

    Raises:
        CycleError: naming one.
    """
    waiting = {name: needed & needs.keys() for name, needed in needs.items()}
    order: list[str] = []
    while waiting:
        ready = [name for name, needed in waiting.items() if not needed]
        if not ready:
            raise CycleError(_find_cycle(waiting))
        order += ready
        done = frozenset(ready)
        waiting = {name: needed - done for name, needed in waiting.items() if name not in done}
    return order


def _find_cycle(waiting: Mapping[str, frozenset[str]]) -> tuple[str, ...]:
    """Follow dependencies until a name repeats; every name in `waiting` needs another in it."""
    path = [next(iter(waiting))]
    while True:
        following = min(waiting[path[-1]])
        if following in path:
            return (*path[path.index(following) :], following)
        path.append(following)
