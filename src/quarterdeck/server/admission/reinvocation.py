"""Reinvocation: which plugins are called again because the object changed after them.

Admission runs a second time when a webhook or policy has changed the object: built-in plugins all
are called again, webhooks and policies only if they have `reinvocationPolicy: IfNeeded` and the
object changed after them.
"""

from collections.abc import Hashable

from quarterdeck.kit import json as kit_json
from quarterdeck.server.registry.resource import Object


class Invocations:
    """The webhooks or policies of one plugin that were called for a write."""

    __slots__ = ("_due", "_output", "_previous")

    def __init__(self) -> None:
        self._previous: set[Hashable] = set()
        self._due: set[Hashable] = set()
        self._output: bytes | None = None

    def begin(self, value: Object | None) -> None:
        """Start the second round; if the object changed since the first, all added ones are due."""
        if self._output is not None and kit_json.encode(value) != self._output:
            self.require_previous()

    def is_due(self, key: Hashable) -> bool:
        """Whether a webhook or policy must be called again."""
        return key in self._due

    def add(self, key: Hashable) -> None:
        """Record a webhook or policy that was called and must see later changes."""
        self._previous.add(key)

    def require_previous(self) -> None:
        """Make all webhooks or policies added so far due again, because the object changed."""
        self._due |= self._previous
        self._previous = set()

    def end(self, value: Object | None) -> None:
        """Keep the object at the end of the round, if `begin` may have to compare with it."""
        self._output = kit_json.encode(value) if self._previous or self._due else None


class Reinvocation:
    """The state of reinvocation of one write, which has one or two rounds of admission."""

    __slots__ = ("_plugins", "is_needed", "is_second")

    def __init__(self) -> None:
        self.is_needed = False
        """Whether the object was changed after a webhook or policy that must see changes."""
        self.is_second = False
        self._plugins: dict[str, Invocations] = {}

    def get(self, plugin: str) -> Invocations:
        """Get or create the invocations of a plugin."""
        return self._plugins.setdefault(plugin, Invocations())

    def start_second_round(self) -> bool:
        """Start the second round, if one is needed; there is never a third."""
        if self.is_second or not self.is_needed:
            return False
        self.is_second = True
        return True
