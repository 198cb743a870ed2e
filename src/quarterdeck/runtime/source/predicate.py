"""Predicates: functions that decide whether an event causes a reconcile.

They run for every watch event, so they compare cheap members first, and decode the metadata of the
old state only if a comparison needs it.
"""

from collections.abc import Callable

from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.labels import parse_selector

Predicate = Callable[[Event], bool]


def generation_changed(event: Event) -> bool:
    """True if the generation changed or deletion began, and for kinds without a generation."""
    if event.old is None or event.change is not Change.MODIFIED:
        return True
    if event.new.generation != event.old.generation or event.new.generation == 0:
        return True
    return (
        event.metadata.deletion_timestamp is not None and not event.old.metadata.deletion_timestamp
    )


def labels_changed(event: Event) -> bool:
    """True if labels changed, and for every creation and deletion."""
    if event.old is None or event.change is not Change.MODIFIED:
        return True
    return (event.metadata.labels or {}) != event.old.labels


def annotations_changed(event: Event) -> bool:
    """True if annotations changed, and for every creation and deletion."""
    if event.old is None or event.change is not Change.MODIFIED:
        return True
    return (event.metadata.annotations or {}) != (event.old.metadata.annotations or {})


def finalizers_changed(event: Event) -> bool:
    """True if finalizers changed, and for every creation and deletion."""
    if event.old is None or event.change is not Change.MODIFIED:
        return True
    return (event.metadata.finalizers or ()) != (event.old.metadata.finalizers or ())


def resource_version_changed(event: Event) -> bool:
    """True unless a modification has the resourceVersion of the old state."""
    return event.change is not Change.MODIFIED or (
        event.old is None or event.new.version != event.old.version
    )


def desired_state_changed(event: Event) -> bool:
    """True if spec, labels, annotations or finalizers changed: the default of controllers."""
    if event.old is None or event.change is not Change.MODIFIED:
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
    """Build a predicate that is true if the old or the new labels match a selector."""
    parsed = parse_selector(selector)

    def predicate(event: Event) -> bool:
        if parsed.matches(event.metadata.labels or {}):
            return True
        return event.old is not None and parsed.matches(event.old.labels)

    return predicate


def in_namespaces(*namespaces: str) -> Predicate:
    """Build a predicate that is true for objects of these namespaces."""
    wanted = frozenset(namespaces)
    return lambda event: event.key.namespace in wanted


def all_of(*predicates: Predicate) -> Predicate:
    """Build a predicate that is true if all predicates are; stops at the first that is false."""
    return lambda event: all(predicate(event) for predicate in predicates)


def any_of(*predicates: Predicate) -> Predicate:
    """Build a predicate that is true if any predicate is; stops at the first that is true."""
    return lambda event: any(predicate(event) for predicate in predicates)


def none_of(*predicates: Predicate) -> Predicate:
    """Build a predicate that is true if all predicates are false."""
    return lambda event: not any(predicate(event) for predicate in predicates)
