"""Events to queue: subscribes a controller to the caches of the kinds it declares."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from quarterdeck.meta.identity import Key
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.event import Event
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.informer.factory import InformerFactory
from quarterdeck.runtime.observability.controller_metrics import ControllerMetrics
from quarterdeck.runtime.observability.logging import Logger
from quarterdeck.runtime.queue.dispatcher import Dispatcher
from quarterdeck.runtime.queue.workqueue import LOW_PRIORITY
from quarterdeck.runtime.reconcile.journal import Cause
from quarterdeck.runtime.source import handler
from quarterdeck.runtime.source.predicate import Predicate


class Subscription:
    """Adds the keys that events concern to the queue of one controller."""

    def __init__(
        self,
        controller: Controller[Any],
        informers: InformerFactory,
        *,
        dispatcher: Dispatcher[Key],
        metrics: ControllerMetrics,
        log: Logger,
    ) -> None:
        self._controller = controller
        self._informers = informers
        self._dispatcher = dispatcher
        self._metrics = metrics
        self._log = log

    def attach(self) -> None:
        """Make the informers and indexes of all declared kinds, and handle their events."""
        controller, informers = self._controller, self._informers
        for kind in controller.kinds:
            informers.ensure(kind)
        for kind, functions in controller.indexes.items():
            for name, function in functions.items():
                informers.ensure(kind).cache.add_index(name, function)
        self._handle(controller.for_, controller.predicates, handler.enqueue_object, "itself")
        owner = controller.for_.KIND
        for own in controller.owned:
            informers.ensure(own.kind).cache.index_owners()
            mapping = handler.enqueue_owner(
                owner.gvk.group_kind,
                is_namespaced=owner.is_namespaced,
                only_controller=own.only_controller,
            )
            self._handle(own.kind, own.predicates, mapping, "owner")
        for watch in controller.watches:
            mapping = handler.enqueue_mapped(watch.to, watch.kind, informers)
            label = getattr(watch.to, "__name__", "mapping")
            self._handle(watch.kind, watch.predicates, mapping, label)

    def _handle(
        self,
        kind: type[Object],
        predicates: Sequence[Predicate],
        mapping: Callable[[Event], Iterable[Key]],
        label: str,
    ) -> None:
        add, name, metrics = self._dispatcher.add, self._controller.effective_name, self._metrics
        is_own_kind = mapping is handler.enqueue_object

        def handle(event: Event) -> None:
            author = event.author
            own_key = author.key if author is not None and author.controller == name else None
            if is_own_kind and own_key is not None and own_key == event.key:
                metrics.own_events.value += 1
                return
            try:
                for predicate in predicates:
                    if not predicate(event):
                        return
                keys = mapping(event)
            except Exception as error:
                self._log.error(
                    "predicate or mapping failed; event ignored",
                    error=error,
                    kind=kind.__name__,
                    mapping=label,
                )
                return
            priority = LOW_PRIORITY if event.is_initial else 0
            for key in keys:
                if own_key is not None and own_key == key:
                    metrics.own_events.value += 1
                else:
                    add(key, priority=priority, cause=Cause.of(event, label))

        self._informers.ensure(kind).cache.add_handler(handle)
