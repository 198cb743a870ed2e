"""The status of one object: conditions, observed generation, and one write at the end.

A reconcile fills a draft; the runtime adds what every object has (the ready condition, the
observed generation) and applies it to `/status` only if something of ours changed. Conditions
of others are never part of what we apply, so they survive.
"""

import functools
import typing
from collections.abc import Iterable
from datetime import datetime
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar

import msgspec

from quarterdeck.meta import conditions
from quarterdeck.meta.conditions import Condition, Status
from quarterdeck.meta.objects import Object, to_builtins

T = TypeVar("T", bound=Object)


class StatusDraft(Generic[T]):
    """What the status of one object will be."""

    def __init__(self, obj: T, now: datetime, owned: Iterable[str]) -> None:
        """`owned` are the condition types of this controller, set or not."""
        self._obj = obj
        self._now = now
        self._members = members = inspect_status(type(obj))
        self.has_conditions = members.has_conditions
        """Whether the kind's status has conditions at all."""
        self._before: Any = getattr(obj, "status", None)
        if self._before is None and members.type is not None:
            self._before = members.type()
        self.current: Any = self._before
        """The draft as a struct of the kind's status type."""
        self._owned = frozenset(owned)
        self._touched: set[str] = set()
        self.is_discarded = False

    def discard(self) -> None:
        """Write no status: another replica writes it."""
        self.is_discarded = True

    def set(self, **fields: object) -> None:
        """Replace members of the status, by their Python names."""
        self.current = msgspec.structs.replace(self._require(), **fields)

    def set_condition(
        self,
        type_: str,
        status: Status,
        reason: str,
        message: str = "",
    ) -> None:
        """Set a condition; its transition time moves only when its status does."""
        self.put_condition(
            Condition(
                type=type_,
                status=status,
                reason=reason,
                message=message,
                observed_generation=self._obj.metadata.generation,
            )
        )

    def put_condition(self, condition: Condition) -> None:
        """Set a condition that was built elsewhere; otherwise as `set_condition`."""
        self._touched.add(condition.type)
        self._set_conditions(conditions.set_condition(self.conditions, condition, now=self._now))

    def remove_condition(self, type_: str) -> None:
        """Remove a condition that this controller owns."""
        self._touched.add(type_)
        self._set_conditions(conditions.remove_condition(self.conditions, type_))

    @property
    def conditions(self) -> tuple[Condition, ...]:
        """All conditions of the draft, also those of others."""
        return tuple(getattr(self.current, "conditions", None) or ())

    def is_condition_set(self, type_: str) -> bool:
        """Whether this reconcile has set or removed a condition."""
        return type_ in self._touched

    def set_observed_generation(self) -> None:
        """Set the observed generation, where the kind has the field."""
        generation = self._obj.metadata.generation
        if self._members.has_observed_generation and self.current.observed_generation != generation:
            self.set(observed_generation=generation)

    def get_transition(self, type_: str) -> tuple[Condition | None, Condition | None]:
        """A condition before and after."""
        before = tuple(getattr(self._before, "conditions", None) or ())
        return conditions.find(before, type_), conditions.find(self.conditions, type_)

    def build_apply_configuration(self) -> bytes | None:
        """The encoded apply configuration of `/status`; None when none of our fields changed."""
        if self._members.type is None:
            return None
        before, after = self._before, self.current
        if before == after and not self._members.has_defaults:
            return None
        if self.has_conditions:
            before, after = self._keep_ours(before), self._keep_ours(after)
        if before == after and not self._is_unwritten(after):
            return None
        key = self._obj.key
        metadata = {"name": key.name}
        if key.namespace:
            metadata["namespace"] = key.namespace
        return msgspec.json.encode(
            {
                "apiVersion": self._obj.KIND.api_version,
                "kind": self._obj.KIND.kind,
                "metadata": metadata,
                "status": write_defaults(after),
            }
        )

    def _is_unwritten(self, status: Any) -> bool:
        """Whether a status has only defaults, some not empty, so that it may be unwritten."""
        return self._members.has_defaults and status == self._members.type()

    def _keep_ours(self, status: Any) -> Any:
        if not status.conditions:
            return status
        owned = self._owned | self._touched
        ours = tuple(each for each in status.conditions if each.type in owned)
        return status if len(ours) == len(status.conditions) else _with_conditions(status, ours)

    def _set_conditions(self, new: tuple[Condition, ...]) -> None:
        self.current = _with_conditions(self._require(), new)

    def _require(self) -> Any:
        if self._members.type is None:
            raise TypeError(
                f"{type(self._obj).__name__} has no status: its type has no `status` field"
            )
        return self.current


def _with_conditions(status: Any, new: tuple[Condition, ...]) -> Any:
    return msgspec.structs.replace(status, conditions=new)


def write_defaults(status: msgspec.Struct) -> dict[str, Any]:
    """A status as JSON values, with the defaults that are not empty.

    Structs omit every default. That is right for empty values, but a default such as the phase
    Pending must be written: columns and selectors see only fields that are written.
    """
    written = to_builtins(status)  # members may be raw JSON
    for name, key in _list_defaults(type(status)):
        written.setdefault(key, getattr(status, name))
    return written


@functools.cache
def _list_defaults(type_: type[msgspec.Struct]) -> tuple[tuple[str, str], ...]:
    """The members whose default is not empty: their names in Python and in JSON."""
    return tuple(
        (each.name, each.encode_name)
        for each in msgspec.structs.fields(type_)
        if isinstance(each.default, str | int | float) and each.default
    )


class StatusMembers(msgspec.Struct, frozen=True):
    """The struct type of a kind's status, if it has one, and the members that matter here."""

    type: Any
    has_conditions: bool = False
    has_observed_generation: bool = False
    has_defaults: bool = False
    """Whether a default is not empty, so that it must be written."""


@functools.cache
def inspect_status(kind: type[Object]) -> StatusMembers:
    """Find the status type of a kind and its members; once per kind."""
    type_ = _find_status_type(kind)
    if type_ is None:
        return StatusMembers(None)
    names = type_.__struct_fields__
    return StatusMembers(
        type_,
        has_conditions="conditions" in names,
        has_observed_generation="observed_generation" in names,
        has_defaults=bool(_list_defaults(type_)),
    )


def _find_status_type(kind: type[Object]) -> Any:
    if "status" not in kind.__struct_fields__:
        return None
    hint = typing.get_type_hints(kind)["status"]
    if typing.get_origin(hint) in (typing.Union, UnionType):
        hint = next(
            each for each in typing.get_args(hint) if each not in (NoneType, msgspec.UnsetType)
        )
    return hint if isinstance(hint, type) and issubclass(hint, msgspec.Struct) else None
