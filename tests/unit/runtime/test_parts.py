"""The small pure parts: no-op check, status drafts, predicates, outcomes, metrics, logs."""

import io
import logging as standard_logging
import threading
from datetime import UTC, datetime
from typing import Any

import msgspec
import pytest

from quarterdeck.client.errors import ConnectionFailed
from quarterdeck.kit.clock import SystemClock
from quarterdeck.kit.http import Response
from quarterdeck.kit.metrics import Histogram
from quarterdeck.meta.conditions import FALSE, TRUE, Condition, Conditions
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.markers import ABSENT, Arbitrary
from quarterdeck.meta.objects import Object, ObjectMeta, Struct
from quarterdeck.runtime.cache.event import Change, Event
from quarterdeck.runtime.cache.snapshot import Snapshot
from quarterdeck.runtime.controller import rbac
from quarterdeck.runtime.controller.controller import Controller
from quarterdeck.runtime.endpoints import health
from quarterdeck.runtime.observability import logging, tracing
from quarterdeck.runtime.observability.metrics import ControllerMetrics, Metrics, QueueMetrics
from quarterdeck.runtime.observability.watchdog import LoopWatchdog
from quarterdeck.runtime.reconcile.apply import is_apply_redundant
from quarterdeck.runtime.reconcile.outcome import (
    AwaitingObject,
    Conflicted,
    Deferred,
    Failed,
    Outcome,
    Requeued,
    StalledOutcome,
    Succeeded,
    TimedOut,
    classify_error,
    classify_result,
)
from quarterdeck.runtime.reconcile.result import (
    Done,
    RequeueAfter,
    Result,
    Stalled,
    WaitFor,
    Waiting,
)
from quarterdeck.runtime.reconcile.status import StatusDraft
from quarterdeck.runtime.source import predicate
from quarterdeck.runtime.source.handler import enqueue_owner
from quarterdeck.wire.status import Conflict, TooManyRequests

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


def managed(fields: dict[str, Any], manager: str = "me") -> list[dict[str, Any]]:
    return [{"manager": manager, "operation": "Apply", "apiVersion": "v1", "fieldsV1": fields}]


CURRENT: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {
        "name": "a",
        "namespace": "ns",
        "labels": {"app": "x", "foreign": "y"},
        "managedFields": managed(
            {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:ports": {
                        'k:{"port":80,"protocol":"TCP"}': {".": {}, "f:port": {}, "f:name": {}}
                    },
                    "f:type": {},
                    "f:set": {'v:"one"': {}},
                },
            }
        ),
    },
    "spec": {
        "type": "ClusterIP",
        "ports": [{"port": 80, "protocol": "TCP", "name": "web"}, {"port": 81, "protocol": "TCP"}],
        "set": ["one", "two"],
    },
}
DESIRED: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a", "namespace": "ns", "labels": {"app": "x"}},
    "spec": {"type": "ClusterIP", "ports": [{"port": 80, "name": "web"}], "set": ["one"]},
}


def changed(path: list[Any], value: Any) -> dict[str, Any]:
    copy: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(DESIRED))
    place: Any = copy
    for step in path[:-1]:
        place = place[step]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return copy


def test_applying_what_we_own_with_the_same_values_is_a_noop() -> None:
    assert is_apply_redundant(DESIRED, CURRENT, manager="me")
    assert not is_apply_redundant(DESIRED, CURRENT, manager="somebody else")
    assert not is_apply_redundant(DESIRED, CURRENT, manager="me", subresource="status")


@pytest.mark.parametrize(
    ("path", "value"),
    [
        pytest.param(["spec", "type"], "NodePort", id="changed value"),
        pytest.param(["spec", "type"], None, id="field given up"),
        pytest.param(["metadata", "labels", "new"], "z", id="new field"),
        pytest.param(["metadata", "labels", "foreign"], "y", id="field of another owner"),
        pytest.param(["spec", "ports", 0, "name"], "other", id="changed list entry"),
        pytest.param(["spec", "ports"], [], id="list entry given up"),
        pytest.param(["spec", "set"], ["one", "three"], id="new set member"),
    ],
)
def test_any_difference_is_sent(path: list[Any], value: Any) -> None:
    assert not is_apply_redundant(changed(path, value), CURRENT, manager="me")


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


def snapshot(version: int, **metadata: Any) -> Snapshot:
    fields = {"name": "a", "namespace": "ns", "uid": "u", "resourceVersion": str(version)}
    return Snapshot.of(msgspec.json.encode({"metadata": {**fields, "generation": 1, **metadata}}))


def modified(old: Snapshot, new: Snapshot) -> Event:
    return Event(Change.MODIFIED, old, new, Thing)


@pytest.mark.parametrize(
    ("after", "matters"),
    [
        pytest.param({}, False, id="status only"),
        pytest.param({"generation": 2}, True, id="spec"),
        pytest.param({"labels": {"a": "b"}}, True, id="labels"),
        pytest.param({"annotations": {"a": "b"}}, True, id="annotations"),
        pytest.param({"finalizers": ["x"]}, True, id="finalizers"),
        pytest.param({"deletionTimestamp": "2026-01-01T00:00:00Z"}, True, id="deletion began"),
    ],
)
def test_the_default_predicate_sees_everything_but_status(
    after: dict[str, Any], *, matters: bool
) -> None:
    event = modified(snapshot(1), snapshot(2, **after))
    assert predicate.desired_state_changed(event) is matters
    assert predicate.resource_version_changed(event)


def test_predicates_combine() -> None:
    event = modified(snapshot(1, labels={"app": "x"}), snapshot(2))
    assert predicate.matches("app=x")(event)  # it did before
    assert not predicate.matches("app=y")(event)
    assert predicate.all_of(predicate.labels_changed, predicate.in_namespaces("ns"))(event)
    assert not predicate.none_of(predicate.labels_changed)(event)
    assert predicate.any_of(predicate.generation_changed, predicate.labels_changed)(event)
    assert not predicate.annotations_changed(event)
    assert not predicate.finalizers_changed(event)


def test_owners_are_found_in_the_old_and_the_new_state_whatever_their_version() -> None:
    def owned(name: str, *, controller: bool = True) -> dict[str, Any]:
        return {
            "apiVersion": "example.com/v9",
            "kind": "Thing",
            "name": name,
            "uid": name,
            "controller": controller,
        }

    old = snapshot(1, ownerReferences=[owned("before")])
    new = snapshot(2, ownerReferences=[owned("after"), owned("friend", controller=False)])
    group_kind = Thing.KIND.gvk.group_kind
    mapping = enqueue_owner(group_kind, is_namespaced=True, only_controller=True)
    assert set(mapping(modified(old, new))) == {Key("ns", "before"), Key("ns", "after")}
    everybody = enqueue_owner(group_kind, is_namespaced=False, only_controller=False)
    assert Key("", "friend") in set(everybody(modified(old, new)))


WAIT = WaitFor(Thing, Key("", "a"), timeout_s=9)


@pytest.mark.parametrize(
    ("result", "expected"),
    [
        pytest.param(None, Succeeded(), id="none"),
        pytest.param(Done(), Succeeded(), id="done"),
        pytest.param(RequeueAfter(3), Requeued(3), id="after"),
        pytest.param(RequeueAfter(3, priority=7), Requeued(3, 7), id="with a priority"),
        pytest.param(WAIT, AwaitingObject(WAIT), id="wait for an object"),
    ],
)
def test_outcomes_follow_from_results(result: Result | None, expected: Outcome) -> None:
    assert classify_result(result) == expected


def test_a_requeue_without_a_positive_time_is_refused() -> None:
    with pytest.raises(ValueError, match=r"RequeueAfter\.seconds must be positive, got 0"):
        classify_result(RequeueAfter(0))


@pytest.mark.parametrize(
    ("error", "expected", "label"),
    [
        pytest.param(Stalled("No", "x"), StalledOutcome("No", "x"), "error", id="stalled"),
        pytest.param(
            Waiting("Not", "x", after_s=5), Deferred("Not", "x", 5), "requeue_after", id="waiting"
        ),
        pytest.param(Conflict("x"), Conflicted("Conflict", "x"), "error", id="conflict"),
        pytest.param(
            TooManyRequests("x", retry_after_s=7),
            Failed("TooManyRequests", "x", 7.0),
            "error",
            id="429",
        ),
        pytest.param(
            KeyError("x"),
            Failed("ReconcileFailed", "KeyError: 'x'", is_unexpected=True),
            "error",
            id="crash",
        ),
        pytest.param(
            TimeoutError("x"),
            Failed("ReconcileFailed", "TimeoutError: x", is_unexpected=True),
            "error",
            id="a time-out of its own",
        ),
        pytest.param(ConnectionFailed("x"), Failed("Unreachable", "x"), "error", id="unreachable"),
    ],
)
def test_outcomes_follow_from_errors(error: Exception, expected: Outcome, label: str) -> None:
    found = classify_error(error)
    assert found == expected
    assert label == found.RESULT


def test_a_reconcile_beyond_its_time_limit_timed_out() -> None:
    found = classify_error(TimeoutError(), is_timeout=True)
    assert isinstance(found, TimedOut)
    assert found.detail == "TimedOut: the reconcile exceeded its time limit and was cancelled"


def test_controller_metrics_start_at_zero_with_the_names_of_controller_runtime() -> None:
    metrics = Metrics()
    ControllerMetrics(metrics, "thing", workers=4)
    text = metrics.registry.render().decode()
    for line in (
        'controller_runtime_reconcile_total{controller="thing",result="requeue_after"} 0',
        'controller_runtime_reconcile_panics_total{controller="thing"} 0',
        'controller_runtime_terminal_reconcile_errors_total{controller="thing"} 0',
        'controller_runtime_max_concurrent_reconciles{controller="thing"} 4',
        'workqueue_adds_total{name="thing",controller="thing"} 0',
        'controller_runtime_reconcile_time_seconds_bucket{controller="thing",le="60"} 0',
        'workqueue_queue_duration_seconds_bucket{name="thing",controller="thing",le="1e-08"} 0',
    ):
        assert line in text


def test_many_priorities_share_one_label() -> None:
    metrics = Metrics()
    queue = QueueMetrics(metrics, "q")
    for priority in range(40):
        queue.on_add(priority)
    labels = {values[2] for values in metrics.depth.series()}
    assert len(labels) == 26
    assert "exceeded_cardinality_limit" in labels


@pytest.fixture
def logs() -> Any:
    stream = io.StringIO()
    logging.configure("info", form="json", stream=stream)
    yield stream
    root = standard_logging.getLogger(logging.ROOT)
    root.handlers.clear()
    root.propagate = True
    root.setLevel(standard_logging.NOTSET)


def test_logs_are_json_lines_with_bound_fields_and_a_changeable_level(logs: io.StringIO) -> None:
    log = logging.get_logger("x", kind="Thing").bind(name="a")
    log.debug("unseen")
    log.info("seen", duration_s=1.5)
    logging.set_level("debug")
    assert logging.get_level() == "debug"
    try:
        raise ValueError("bad")
    except ValueError as error:
        log.error("failed", error=error)
    first, second = (msgspec.json.decode(line) for line in logs.getvalue().splitlines())
    assert first["message"] == "seen"
    assert (first["kind"], first["name"], first["duration_s"]) == ("Thing", "a", 1.5)
    assert "ValueError: bad" in second["error"]
    with pytest.raises(ValueError, match="debug, info"):
        logging.set_level("loud")


def test_console_logs_are_one_line_for_people() -> None:
    record = standard_logging.LogRecord("q", 20, "f", 1, "hello", (), None)
    record.fields = {"a": 1, "b": "two words"}
    line = logging.ConsoleFormatter().format(record)
    assert line.endswith('info    hello  a=1 b="two words"')


def test_health_answers_by_check_and_exclusion() -> None:
    def boom() -> str:
        raise RuntimeError("no")

    checks = {"ping": health.ping, "boom": boom}
    answer: Response = health.run_checks("healthz", checks, "/healthz", "")
    assert answer.status == 500
    assert b"[-]boom failed: RuntimeError: no" in answer.body
    assert health.run_checks("healthz", checks, "/healthz", "exclude=boom").status == 200
    assert health.run_checks("healthz", checks, "/healthz/ping", "").body == b"ok"


def test_rules_come_from_declarations() -> None:
    async def nothing(thing: Thing, ctx: Any) -> None: ...

    controller = Controller(reconcile=nothing, for_=Thing, owns=[Bare])
    rules = {(rule.group, rule.resource): rule.verbs for rule in rbac.build_rules([controller])}
    assert rules["example.com", "things"] == ("get", "list", "watch")
    assert rules["example.com", "things/status"] == ("get", "patch", "update")
    assert "create" in rules["example.com", "bares"]
    used = [rbac.Use("example.com", "things", "delete")]
    assert rbac.find_uncovered(used, rbac.build_rules([controller])) == used


def test_traces_are_off_unless_asked_for() -> None:
    assert not tracing.is_enabled({})
    assert not tracing.is_enabled({"OTEL_TRACES_EXPORTER": "none"})
    assert tracing.is_enabled({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"})
    assert tracing.create_tracer("x", {"OTEL_SDK_DISABLED": "true"}) is None


async def test_the_watchdog_names_the_code_that_blocks_the_loop() -> None:
    import asyncio

    dog = LoopWatchdog(
        clock=SystemClock(), log=logging.get_logger("dog"), lag=Histogram((0.1,)), limit_s=0.05
    )
    running = asyncio.ensure_future(dog.run())
    for _ in range(50):  # a busy machine may stop the loop as well, and be named instead
        await asyncio.sleep(0.12)
        guilty_code()
        await asyncio.sleep(0.12)
        if "guilty_code" in dog.last_stack:
            break
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert dog.incidents >= 1
    assert "guilty_code" in dog.last_stack


def guilty_code() -> None:
    threading.Event().wait(0.4)
