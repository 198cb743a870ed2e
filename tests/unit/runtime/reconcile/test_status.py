"""What of a status is written."""

from datetime import UTC, datetime

import msgspec
import pytest

from quarterdeck.meta.conditions import FALSE, TRUE, Condition, Conditions
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import ABSENT, Arbitrary
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime.reconcile.status import StatusDraft

NOW = datetime(2026, 1, 1, tzinfo=UTC)


class ThingStatus(Struct, frozen=True, kw_only=True):
    size: int = 0
    observed_generation: int = 0
    conditions: Conditions = ()


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")
    status: ThingStatus | None = None


class Bare(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Bare", plural="bares")


def test_a_draft_that_changes_nothing_is_not_written() -> None:
    ready = Condition(
        type="Ready", status=TRUE, reason="Fine", message="", last_transition_time="t"
    )
    status = ThingStatus(size=1, conditions=(ready,))
    thing = Thing(metadata=ObjectMeta(name="a", namespace="ns"), status=status)
    draft = StatusDraft(thing, now=NOW, owned=["Ready"])
    draft.set(size=1)
    draft.set_condition("Ready", TRUE, "Fine")
    assert draft.build_apply_configuration() is None
    draft.set_condition("Ready", FALSE, "Broken", "why")
    body = draft.build_apply_configuration()
    assert body is not None
    sent = msgspec.json.decode(body)
    assert sent["metadata"] == {"name": "a", "namespace": "ns"}
    assert sent["status"]["conditions"][0]["lastTransitionTime"] == "2026-01-01T00:00:00Z"


def test_foreign_conditions_are_neither_sent_nor_missed() -> None:
    foreign = Condition(
        type="Other", status=TRUE, reason="Theirs", message="", last_transition_time="t"
    )
    thing = Thing(metadata=ObjectMeta(name="a"), status=ThingStatus(conditions=(foreign,)))
    draft = StatusDraft(thing, now=NOW, owned=["Ready"])
    assert draft.build_apply_configuration() is None
    draft.set(size=2)
    body = draft.build_apply_configuration()
    assert body is not None
    sent = msgspec.json.decode(body)
    assert "conditions" not in sent["status"]
    assert draft.conditions == (foreign,)


class PhaseStatus(Struct, frozen=True, kw_only=True):
    phase: str = "Pending"
    attempts: int = 1
    count: int = 0
    note: str = ""
    details: Arbitrary = ABSENT


class Phased(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Phased", plural="phased")
    status: PhaseStatus = PhaseStatus()


def test_defaults_that_say_something_are_written() -> None:
    new = StatusDraft(Phased(metadata=ObjectMeta(name="a")), now=NOW, owned=[])
    body = new.build_apply_configuration()
    assert body is not None
    assert msgspec.json.decode(body)["status"] == {"phase": "Pending", "attempts": 1}
    new.set(phase="Ready", count=2, details=msgspec.Raw(b'{"a":1}'))
    body = new.build_apply_configuration()
    assert body is not None
    assert msgspec.json.decode(body)["status"] == {
        "phase": "Ready",
        "attempts": 1,
        "count": 2,
        "details": {"a": 1},
    }


def test_a_kind_without_status_says_so() -> None:
    draft = StatusDraft(Bare(metadata=ObjectMeta(name="a")), now=NOW, owned=[])
    assert draft.build_apply_configuration() is None
    with pytest.raises(TypeError, match="Bare has no status"):
        draft.set(size=1)
