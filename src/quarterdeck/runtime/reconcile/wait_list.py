"""Objects that reconciles wait for: `WaitFor` ends by an event, not by polling."""

from collections.abc import Callable

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.reconcile.journal import Cause
from quarterdeck.runtime.reconcile.result import WaitFor

Enqueue = Callable[[Key, object], object]
"""Takes the key that waited, and the cause to run it again."""
_Awaited = tuple[type[Object], Key]


class WaitList:
    """The keys of one controller that wait, and the objects they wait for."""

    def __init__(self, informers: InformerFactory, enqueue: Enqueue, log: Logger) -> None:
        self._informers = informers
        self._enqueue = enqueue
        self._log = log
        self._waits: dict[_Awaited, dict[Key, WaitFor]] = {}
        self._awaited: dict[Key, _Awaited] = {}
        self._kinds: set[type[Object]] = set()

    def __len__(self) -> int:
        """How many objects are waited for."""
        return len(self._waits)

    def add(self, key: Key, wait: WaitFor) -> None:
        """Enqueue `key` when its wait ends, at once if its condition is met already."""
        self.remove(key)
        informer = self._informers.find(wait.kind)
        if informer is None:
            self._log.error(
                "WaitFor names a kind that no controller watches; it ends only by its timeout",
                kind=wait.kind.__name__,
                object=str(key),
            )
            return
        if wait.until is not None and self._is_met(key, wait, informer.cache.snapshot(wait.key)):
            self._enqueue(key, "condition already met")
            return
        awaited = self._awaited[key] = (wait.kind, wait.key)
        self._waits.setdefault(awaited, {})[key] = wait
        if wait.kind not in self._kinds:
            self._kinds.add(wait.kind)
            informer.cache.add_handler(self._on_event)

    def remove(self, key: Key) -> None:
        """Remove the wait of a key: it runs again, or its object was deleted."""
        awaited = self._awaited.pop(key, None)
        if awaited is None:
            return
        waiting = self._waits[awaited]
        del waiting[key]
        if not waiting:
            del self._waits[awaited]

    def _on_event(self, event: Event) -> None:
        waiting = self._waits.get((event.kind, event.key))
        if not waiting or event.is_initial:
            return
        state = None if event.change is Change.DELETED else event.new
        for key, wait in tuple(waiting.items()):
            if wait.until is None or self._is_met(key, wait, state):
                self.remove(key)
                self._enqueue(key, Cause.of(event, "WaitFor"))

    def _is_met(self, key: Key, wait: WaitFor, state: Snapshot | None) -> bool:
        """Whether the condition holds; one that raises is logged and does not hold."""
        assert wait.until is not None
        try:
            return wait.until(state.typed(wait.kind) if state is not None else None)
        except Exception as error:
            self._log.error(
                "condition of WaitFor failed; waiting for the next change or its timeout",
                error=error,
                object=str(key),
                awaited=f"{wait.kind.__name__} {wait.key}",
            )
            return False
