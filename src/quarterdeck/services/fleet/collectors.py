"""The collectors of the fleet: registrations, attributes, and what each was last served. No I/O."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from quarterdeck.services.fleet.config_status import APPLYING, read_status
from quarterdeck.services.fleet.errors import FleetError, invalid, not_found
from quarterdeck.services.fleet.records import Collector
from quarterdeck.telemetry.attributes import RESERVED
from quarterdeck.telemetry.fleet.codes import Code
from quarterdeck.telemetry.matchers import MatcherError, parse_all

MAX_KEY = 100
MAX_VALUE = 1024
MAX_REMOTE = 100
MAX_LOCAL = 200
MAX_NAME = 512
MAX_LOCAL_VALUE = 4096
MAX_COLLECTORS = 200_000
"""Maximum number of collectors, so that one agent with a token cannot fill the memory."""
_PREFIXES = ("remote_attributes", "remoteAttributes")


class Collectors:
    """Every collector by its id."""

    def __init__(self, collectors: Iterable[Collector]) -> None:
        self._by_id = {each.id: each for each in collectors}
        self._listeners: dict[str, list[Callable[[], None]]] = {}

    def __len__(self) -> int:
        return len(self._by_id)

    def find(self, identity: str) -> Collector | None:
        """One collector, or None."""
        return self._by_id.get(identity)

    def get(self, identity: str) -> Collector:
        """One collector. Raises `not_found`."""
        found = self._by_id.get(identity)
        if found is None:
            raise not_found("collector", identity)
        return found

    def list_all(self) -> Sequence[Collector]:
        """Every collector."""
        return tuple(self._by_id.values())

    def put(self, collector: Collector) -> None:
        """Add or replace a collector.

        Raises:
            FleetError: `resource_exhausted` if it is one too many.
        """
        if len(self._by_id) >= MAX_COLLECTORS and collector.id not in self._by_id:
            raise FleetError(
                Code.RESOURCE_EXHAUSTED,
                f"limit of {MAX_COLLECTORS} collectors reached; delete collectors that are no "
                "longer used",
            )
        self._by_id[collector.id] = collector

    def listen(self, identity: str, notify: Callable[[], None]) -> Callable[[], None]:
        """Call `notify` after changes by others than the collector; returns how to end that."""
        self._listeners.setdefault(identity, []).append(notify)

        def end() -> None:
            self._listeners[identity].remove(notify)
            if not self._listeners[identity]:
                del self._listeners[identity]

        return end

    def announce(self, identity: str) -> None:
        """Notify those that listen to a collector of a change."""
        for notify in self._listeners.get(identity, ()):
            notify()

    def remove(self, identity: str) -> None:
        """Delete a collector. Raises `not_found`."""
        self.get(identity)
        del self._by_id[identity]

    def list(self, matchers: Sequence[str]) -> list[Collector]:
        """Collectors that satisfy every matcher; all of them without matchers."""
        try:
            parsed = parse_all(matchers)
        except MatcherError as error:
            raise invalid(f"matchers: {error}") from error
        return [
            each
            for _, each in sorted(self._by_id.items())
            if all(matcher.matches(each.get_effective_attributes()) for matcher in parsed)
        ]

    def list_attributes(self, member: str) -> dict[str, Any]:
        """All values of each attribute, as `ListCollectorAttributes` returns them."""
        values: dict[str, set[str]] = {}
        for collector in self._by_id.values():
            for key, value in getattr(collector, member).items():
                values.setdefault(key, set()).add(value)
        return {
            key: {"values": [{"value": value} for value in sorted(found)]}
            for key, found in sorted(values.items())
        }


def register_collector(
    current: Collector | None, message: Mapping[str, Any], now: str
) -> Collector:
    """The record of a collector after it registered, or polled without registration."""
    identity = str(message.get("id") or "")
    if not identity:
        raise invalid("id must not be empty")
    local = message.get("localAttributes") or message.get("attributes") or {}
    check_local(identity, str(message.get("name") or ""), local)
    base = current or Collector(id=identity, created_at=now)
    return msgspec.structs.replace(
        base,
        name=str(message.get("name") or base.name),
        local_attributes=dict(local) if local or "name" in message else base.local_attributes,
        updated_at=now,
        last_seen=now,
        marked_inactive_at="",
    )


def check_local(identity: str, name: str, attributes: Mapping[str, Any]) -> None:
    """Refuse ids, names and attributes over the limits.

    Raises:
        FleetError: `invalid_argument`, naming what is too long.
    """
    if len(identity) > MAX_NAME or len(name) > MAX_NAME:
        raise invalid(f"id and name: at most {MAX_NAME} characters")
    if len(attributes) > MAX_LOCAL:
        raise invalid(f"localAttributes: at most {MAX_LOCAL}, not {len(attributes)}")
    for key, value in attributes.items():
        if len(key) > MAX_NAME or len(str(value)) > MAX_LOCAL_VALUE:
            raise invalid(
                f"localAttributes: {key[:80]!r} is too long; keys have at most {MAX_NAME}"
                f" characters, values {MAX_LOCAL_VALUE}"
            )


def record_poll(current: Collector, message: Mapping[str, Any], now: str) -> Collector:
    """Record a poll, with the attributes and the status that the collector reports."""
    changes: dict[str, Any] = {"last_seen": now}
    local = message.get("localAttributes") or message.get("attributes")
    if local and local != current.local_attributes:
        check_local(current.id, "", local)
        changes["local_attributes"] = local
    if current.marked_inactive_at:
        changes["marked_inactive_at"] = ""
    changes.update(read_status(current, message))
    return msgspec.structs.replace(current, **changes)


def record_served(current: Collector, hash_: str, parts: tuple[str, ...]) -> Collector:
    """The record of a collector after it was served a configuration."""
    if hash_ == current.served_hash:  # the same text under other names: a promotion
        applied = parts if current.applied == current.served else current.applied
        return msgspec.structs.replace(current, served=parts, applied=applied)
    return msgspec.structs.replace(
        current, served_hash=hash_, served=parts, status=APPLYING, error_message=""
    )


def update_collector(current: Collector | None, message: Mapping[str, Any], now: str) -> Collector:
    """Create or update a collector with the name, attributes, switch and type of a message."""
    identity = str(message.get("id") or "")
    if not identity:
        raise invalid("collector.id must not be empty")
    base = current or Collector(id=identity, created_at=now)
    remote = check_remote(message.get("remoteAttributes") or {})
    return msgspec.structs.replace(
        base,
        name=str(message.get("name") or ""),
        remote_attributes=remote,
        enabled=bool(message.get("enabled", base.enabled)),
        collector_type=str(message.get("collectorType") or base.collector_type),
        updated_at=now,
    )


def check_remote(attributes: Mapping[str, str]) -> dict[str, str]:
    """Check the remote attributes of a request. Raises `invalid_argument` naming the key."""
    if len(attributes) > MAX_REMOTE:
        raise invalid(f"remoteAttributes: at most {MAX_REMOTE}, not {len(attributes)}")
    for key, value in attributes.items():
        if not key or len(key) > MAX_KEY:
            raise invalid(f"remoteAttributes: a key has 1 to {MAX_KEY} characters, not {key!r}")
        if key.startswith(RESERVED):
            raise invalid(f"remoteAttributes: {key!r} is reserved")
        if len(value) > MAX_VALUE:
            raise invalid(f"remoteAttributes: {key!r} is longer than {MAX_VALUE} characters")
    return dict(attributes)


def apply_operations(
    collector: Collector, operations: Sequence[Mapping[str, Any]], now: str
) -> Collector:
    """Apply the operations of a bulk update to a collector, in order."""
    attributes = dict(collector.remote_attributes)
    for operation in operations:
        _operate(attributes, operation)
    if attributes == collector.remote_attributes:
        return collector
    remote = check_remote(attributes)
    return msgspec.structs.replace(collector, remote_attributes=remote, updated_at=now)


def _operate(attributes: dict[str, str], operation: Mapping[str, Any]) -> None:
    key = _parse_key(str(operation.get("path") or ""))
    value = operation.get("value")
    match operation.get("op"):
        case "ADD":
            attributes[key] = _require_text(value, "value")
        case "REMOVE":
            if value is None or attributes.get(key) == value:
                attributes.pop(key, None)
        case "REPLACE":
            old = operation.get("oldValue")
            if old is None or attributes.get(key) == old:
                attributes[key] = _require_text(value, "value")
        case "MOVE" | "COPY" as op:
            source = _parse_key(_require_text(operation.get("from"), "from"))
            if source not in attributes:
                raise invalid(f"ops: attribute {source!r} not found")
            attributes[key] = attributes[source]
            if op == "MOVE" and source != key:
                del attributes[source]
        case other:
            raise invalid(f"ops: unknown operation {other!r}")


def _require_text(value: Any, name: str) -> str:
    if value is None:
        raise invalid(f"ops: {name} is missing")
    return str(value)


def _parse_key(path: str) -> str:
    """The attribute a path names: `/remote_attributes/x` or `remoteAttributes.x`."""
    for prefix in _PREFIXES:
        if path.startswith(f"/{prefix}/"):
            return path[len(prefix) + 2 :].replace("~1", "/").replace("~0", "~")
        if path.startswith(f"{prefix}."):
            return path[len(prefix) + 1 :]
    raise invalid(f"ops: path {path!r} must be /remote_attributes/KEY")
