"""Which events are interesting. A predicate is a function of an event; these are the usual ones.

They run on the watch path for every event: cheap comparisons first, metadata of the old state is
decoded only where a comparison needs it.
"""

from collections.abc import Callable

from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.labels import parse_selector

Predicate = Callable[[Event], bool]


def generation_changed(event: Event) -> bool:
    """The desired state changed, or deletion began; also true for kinds without a generation."""
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    if event.new.generation != event.old.generation or event.new.generation == 0:
        return True
    return (
        event.metadata.deletion_timestamp is not None and not event.old.metadata.deletion_timestamp
    )


def labels_changed(event: Event) -> bool:
    """Labels differ; true for additions and deletions."""
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    return (event.metadata.labels or {}) != event.old.labels


def annotations_changed(event: Event) -> bool:
    """Annotations differ; true for additions and deletions."""
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    return (event.metadata.annotations or {}) != (event.old.metadata.annotations or {})


def finalizers_changed(event: Event) -> bool:
    """Finalizers differ; true for additions and deletions."""
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    return (event.metadata.finalizers or ()) != (event.old.metadata.finalizers or ())


def resource_version_changed(event: Event) -> bool:
    """Something differs at all; false for a repeated state."""
    return event.change is not Change.MODIFIED or (
        event.old is None or event.new.version != event.old.version
    )


def desired_state_changed(event: Event) -> bool:
    """The default for the reconciled kind: spec, labels, annotations or finalizers, not status."""
    if event.change is not Change.MODIFIED or event.old is None:
        return True
    if event.new.generation != event.old.generation or event.new.generation == 0:
        return True
    old, new = event.old.metadata, event.metadata
    return (
        new.deletion_timestamp != old.deletion_timestamp
        or new.labels != old.labels
        or new.annotations != old.annotations
        or new.finalizers != old.finalizers
    )


def matches(selector: str) -> Predicate:
    """Labels match a selector before or after the change, so that leaving it is an event, too."""
    parsed = parse_selector(selector)

    def predicate(event: Event) -> bool:
        if parsed.matches(event.metadata.labels or {}):
            return True
        return event.old is not None and parsed.matches(event.old.labels)

    return predicate


def in_namespaces(*namespaces: str) -> Predicate:
    """Objects of these namespaces only."""
    wanted = frozenset(namespaces)
    return lambda event: event.key.namespace in wanted


def all_of(*predicates: Predicate) -> Predicate:
    """Every predicate holds; the first that does not ends it."""
    return lambda event: all(predicate(event) for predicate in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """One predicate holds."""
    return lambda event: any(predicate(event) for predicate in predicates)


def none_of(*predicates: Predicate) -> Predicate:
    """No predicate holds."""
    return lambda event: not any(predicate(event) for predicate in predicates)
