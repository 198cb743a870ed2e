"""Indexes of owners, labels and selectors, updated with every write.

They find the dependents of an object, the pods with a label, and the objects whose selector selects
a pod, without a scan of the store. Each write changes as many rows as the object has owners and
labels.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import msgspec

from quarterdeck.server.registry.object_meta import ObjectMeta, get_object_meta
from quarterdeck.storage import Entry, StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Operator, Selector, SelectorError

LABELED_RESOURCES = frozenset({"pods", "replicasets.apps"})
"""Resources that are indexed by label."""

LISTED_RESOURCES = frozenset({"nodes", "resourcequotas", "persistentvolumes"})
"""Resources with few objects that are often listed completely."""

MAX_DELETED = 10_000
"""How many uids of deleted objects are kept for `is_gone`."""

_WITHOUT_LABEL = ("", "")
"""The index key of selectors without a `key=value` requirement."""


class _Spec(msgspec.Struct, frozen=True):
    selector: dict[str, Any] | None = None


class _Selecting(msgspec.Struct, frozen=True):
    spec: _Spec = _Spec()


_decode_selecting = msgspec.json.Decoder(_Selecting).decode


def _parse_labels(selector: Mapping[str, Any] | None) -> Selector | None:
    """Parse the selector of a Service; an empty one selects nothing."""
    return Selector.of(selector) if selector else None


def _parse_label_selector(selector: Mapping[str, Any] | None) -> Selector | None:
    if selector is None:
        return None
    try:
        return Selector.from_label_selector(selector)
    except (SelectorError, ValueError):
        return None


SELECTOR_PARSERS: Mapping[str, Callable[[Mapping[str, Any] | None], Selector | None]] = {
    "services": _parse_labels,
    "replicationcontrollers": _parse_labels,
    "replicasets.apps": _parse_label_selector,
    "deployments.apps": _parse_label_selector,
    "statefulsets.apps": _parse_label_selector,
    "daemonsets.apps": _parse_label_selector,
    "jobs.batch": _parse_label_selector,
    "poddisruptionbudgets.policy": _parse_label_selector,
}
"""Resources with a label selector, and the function that parses it."""

_Keys = dict[StoreKey, None]


def is_linked(entry: Entry) -> bool:
    """Whether an object must be indexed: it has labels to index, owners, or is being deleted.

    The bytes are searched, so that the metadata of a hundred thousand other objects is not decoded.
    """
    return (
        entry.key.resource in LABELED_RESOURCES
        or entry.value.find(b'"ownerReferences"') >= 0  # `in` makes an error first: thrice as long
        or entry.value.find(b'"deletionTimestamp"') >= 0
    )


class Index:
    """The indexes that `View` reads; updated with every committed write."""

    def __init__(self) -> None:
        self._owned: dict[str, _Keys] = {}
        self._labeled: dict[tuple[str, str, str, str], _Keys] = {}
        self._selecting: dict[tuple[str, str, str, str], dict[StoreKey, Selector]] = {}
        self._filed: dict[StoreKey, tuple[object, tuple[str, str, str, str]]] = {}
        self._deleting: dict[str, StoreKey] = {}
        self._gone: dict[str, None] = {}
        self._listed: dict[tuple[str, str], _Keys] = {}

    def apply(self, event: StoreEvent) -> None:
        """Update the indexes with one committed write."""
        if event.before is not None:
            self._remove(event.before)
        if event.after is not None:
            self.add(event.after)
        elif event.before is not None:
            self._remove_uid(get_object_meta(event.before).uid)
            if event.key.resource in LISTED_RESOURCES:
                _drop(self._listed, (event.key.resource, event.key.namespace), event.key)
        if event.key.resource in SELECTOR_PARSERS:
            self._add_selector(event.key, event.after)

    def add(self, entry: Entry) -> None:
        """Add an object to the indexes; its selector is added by `apply` or `load`."""
        key = entry.key
        if key.resource in LISTED_RESOURCES:
            self._listed.setdefault((key.resource, key.namespace), {})[key] = None
        if not is_linked(entry):
            return
        object_meta = get_object_meta(entry)
        if object_meta.deletion_timestamp is not None:
            self._deleting[object_meta.uid] = key
        for owner in object_meta.owner_references or ():
            self._owned.setdefault(owner.uid, {})[key] = None
        if key.resource in LABELED_RESOURCES:
            for row in _list_label_rows(key, object_meta):
                self._labeled.setdefault(row, {})[key] = None

    def load(self, entry: Entry) -> None:
        """Add an object that was stored before the first event."""
        self.add(entry)
        if entry.key.resource in SELECTOR_PARSERS:
            self._add_selector(entry.key, entry)

    def list_owned(self, uid: str) -> Iterator[StoreKey]:
        """List the keys of all objects with a uid in their owner references."""
        return iter(tuple(self._owned.get(uid, ())))

    def has_owned(self, uid: str) -> bool:
        """Whether any object has a uid in its owner references."""
        return uid in self._owned

    def list_resource(self, resource: str, namespace: str) -> list[StoreKey]:
        """List the keys of one of the `LISTED_RESOURCES` in a namespace."""
        return sorted(self._listed.get((resource, namespace), ()))

    def find_deleting(self, uid: str) -> StoreKey | None:
        """Return the key of an object that is being deleted, by its uid; None for others."""
        return self._deleting.get(uid)

    def is_gone(self, uid: str) -> bool:
        """Whether an object was deleted recently, by its uid."""
        return uid in self._gone

    def find_candidates(self, resource: str, namespace: str, selector: Selector) -> _Keys | None:
        """Return a small superset of the selected objects; None if no index can be used."""
        best: _Keys | None = None
        for requirement in selector.requirements:
            if requirement.operator not in _EQUALITY_OPERATORS:
                continue
            (value,) = requirement.values
            rows = self._labeled.get((resource, namespace, requirement.key, value), {})
            if best is None or len(rows) < len(best):
                best = rows
        return best

    def find_selecting(
        self, resource: str, namespace: str, labels: Mapping[str, str] | None
    ) -> Iterator[StoreKey]:
        """Find the objects of a resource whose selector selects some labels."""
        labels = labels or {}
        for pair in (*labels.items(), _WITHOUT_LABEL):
            for key, selector in self._selecting.get((resource, namespace, *pair), {}).items():
                if selector.matches(labels):
                    yield key

    def _remove_uid(self, uid: str) -> None:
        self._deleting.pop(uid, None)
        self._gone[uid] = None
        if len(self._gone) > MAX_DELETED:
            del self._gone[next(iter(self._gone))]

    def _remove(self, entry: Entry) -> None:
        if not is_linked(entry):
            return
        key, object_meta = entry.key, get_object_meta(entry)
        for owner in object_meta.owner_references or ():
            _drop(self._owned, owner.uid, key)
        if key.resource in LABELED_RESOURCES:
            for row in _list_label_rows(key, object_meta):
                _drop(self._labeled, row, key)

    def _add_selector(self, key: StoreKey, entry: Entry | None) -> None:
        """Index a selector by one of its `key=value` pairs: the one with the fewest selectors."""
        written = None if entry is None else _decode_selecting(entry.value).spec.selector
        if (filed := self._filed.get(key)) is not None:
            if filed[0] == written:
                return
            del self._filed[key]
            _drop(self._selecting, filed[1], key)
        selector = None if entry is None else SELECTOR_PARSERS[key.resource](written)
        if selector is None:
            return
        pairs = [
            (each.key, next(iter(each.values)))
            for each in selector.requirements
            if each.operator in _EQUALITY_OPERATORS
        ]
        rows = [(key.resource, key.namespace, *pair) for pair in pairs or [_WITHOUT_LABEL]]
        row = min(rows, key=lambda each: len(self._selecting.get(each, ())))
        self._filed[key] = (written, row)
        self._selecting.setdefault(row, {})[key] = selector


_EQUALITY_OPERATORS = frozenset({Operator.EQUALS, Operator.DOUBLE_EQUALS})


def _list_label_rows(key: StoreKey, object_meta: ObjectMeta) -> Iterator[tuple[str, str, str, str]]:
    for name, value in (object_meta.labels or {}).items():
        yield (key.resource, key.namespace, name, value)


def _drop(rows: dict[Any, Any], row: object, key: StoreKey) -> None:
    keys = rows.get(row)
    if keys is not None:
        keys.pop(key, None)
        if not keys:
            del rows[row]
