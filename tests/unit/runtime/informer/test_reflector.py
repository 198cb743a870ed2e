"""The reflector and the cache against a model server, under every fault we could think of."""

import random
from typing import Any

import msgspec
import pytest
from example_counts import count_examples
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from quarterdeck.client.interfaces import ListPage
from quarterdeck.meta.identity import Key
from quarterdeck.meta.kinds import KindInfo
from quarterdeck.meta.objects import Object
from quarterdeck.runtime.cache.cache import Cache
from quarterdeck.runtime.cache.event import Author, Change, Event
from quarterdeck.runtime.informer.action import FetchPage, OpenStream, Wait
from quarterdeck.runtime.informer.failure import Failure, StreamBroken
from quarterdeck.runtime.informer.reflector import Health, Reflector
from quarterdeck.runtime.informer.watch_settings import WatchSettings
from quarterdeck.wire.query import ListOptions

EXPIRED = {"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"}
NAMES = st.sampled_from(["a", "b", "c", "d"])
FAILURES = st.sampled_from([0, 401, 403, 429, 500, 503])


class Thing(Object, frozen=True, kw_only=True):
    KIND = KindInfo(group="example.com", version="v1", kind="Thing", plural="things")
    value: int = 0


class Refused(Exception):
    def __init__(self, code: int, message: str = "") -> None:
        super().__init__(message)
        self.failure = Failure(code, "", message)


class Model:
    """An API server as far as one collection goes: history, compaction, pages, streams."""

    def __init__(self, watch_list: bool = True) -> None:
        self.version = 10
        self.objects: dict[str, dict[str, Any]] = {}
        self.history: list[tuple[int, str, dict[str, Any]]] = []
        self.compacted = 0
        self.uids = 0
        self.watch_list = watch_list
        self.epoch = 0
        self.highest = 0
        self.states: dict[int, dict[str, dict[str, Any]]] = {}
        self.snapshots: dict[str, dict[str, dict[str, Any]]] = {}

    def write(self, name: str) -> bytes:
        self.version += 1
        old = self.objects.get(name)
        if old is None:
            self.uids += 1
        new = {
            "apiVersion": "example.com/v1",
            "kind": "Thing",
            "metadata": {
                "name": name,
                "namespace": "ns",
                "uid": old["metadata"]["uid"] if old else f"{self.epoch}-{self.uids}",
                "resourceVersion": str(self.version),
            },
            "value": self.version,
        }
        self.objects[name] = new
        self.states[self.version] = dict(self.objects)
        self.history.append((self.version, "MODIFIED" if old else "ADDED", new))
        return msgspec.json.encode(new)

    def delete(self, name: str) -> str:
        old = self.objects.pop(name)
        self.version += 1
        self.states[self.version] = dict(self.objects)
        metadata = {**old["metadata"], "resourceVersion": str(self.version)}
        self.history.append((self.version, "DELETED", {**old, "metadata": metadata}))
        uid: str = old["metadata"]["uid"]
        return uid

    def compact(self) -> None:
        self.compacted = self.version
        self.history.clear()

    def restore_older(self) -> None:
        """The server comes back from a backup: its history ends earlier and goes on differently."""
        self.epoch += 1
        self.highest = max(self.highest, self.version + 1)
        self.version = max(10, self.version - 5)
        self.objects = dict(self.states.get(self.version, {}))
        self.states = {v: state for v, state in self.states.items() if v <= self.version}
        self.history = [each for each in self.history if each[0] <= self.version]
        self.compacted = min(self.compacted, self.version)
        self.snapshots = {}

    def list(self, options: ListOptions) -> ListPage:
        """A page; later pages show the state of the first one."""
        if options.continue_:
            version, after = options.continue_.split("/")
            if int(version) < self.compacted or version not in self.snapshots:
                raise Refused(410, "the continue token is too old")
        else:
            self._check_version(options.resource_version)
            version, after = str(self.version), ""
            self.snapshots[version] = dict(self.objects)
        objects = self.snapshots[version]
        names = sorted(name for name in objects if name > after)
        page = names[: options.limit] if options.limit else names
        token = f"{version}/{page[-1]}" if len(page) < len(names) else ""
        return ListPage([msgspec.json.encode(objects[name]) for name in page], version, token)

    def _check_version(self, version: str) -> None:
        if version and int(version) > self.version:
            raise Refused(504, "Too large resource version")

    def stream(self, options: ListOptions) -> "Stream":
        self._check_version(options.resource_version)
        if options.send_initial_events:
            if not self.watch_list:
                raise Refused(422, "sendInitialEvents is forbidden")
            lines = [("ADDED", self.objects[name]) for name in sorted(self.objects)]
            end = {"annotations": {"k8s.io/initial-events-end": "true"}}
            lines.append(("BOOKMARK", self._bookmark(end)))
            return Stream(self, self.version, lines)
        since = int(options.resource_version)
        if since < self.compacted:
            return Stream(self, since, [("ERROR", EXPIRED)])
        return Stream(self, since, [])

    def _bookmark(self, extra: dict[str, Any]) -> dict[str, Any]:
        return {"kind": "Thing", "metadata": {"resourceVersion": str(self.version), **extra}}

    def bookmark(self) -> tuple[str, dict[str, Any]]:
        return ("BOOKMARK", self._bookmark({}))


class Stream:
    def __init__(self, model: Model, since: int, lines: list[tuple[str, dict[str, Any]]]) -> None:
        self.model = model
        self.since = since
        self.lines = lines
        self.epoch = model.epoch
        self.is_bookmark_due = False

    def next(self) -> bytes | None:
        if self.lines:
            kind, obj = self.lines.pop(0)
            return msgspec.json.encode({"type": kind, "object": obj})
        if self.since < self.model.compacted:
            return msgspec.json.encode({"type": "ERROR", "object": EXPIRED})
        for version, kind, obj in self.model.history:
            if version > self.since:
                self.since = version
                return msgspec.json.encode({"type": kind, "object": obj})
        if self.is_bookmark_due:  # after everything before it
            self.is_bookmark_due = False
            kind, obj = self.model.bookmark()
            return msgspec.json.encode({"type": kind, "object": obj})
        return None


class Driver:
    """The informer without I/O: performs actions on the model, one small step at a time."""

    def __init__(self, model: Model, **numbers: Any) -> None:
        self.model = model
        self.now = 0.0
        self.reflector = Reflector(WatchSettings(page_size=2, **numbers), random.Random(1))
        self.cache: Cache[Thing] = Cache(Thing)
        self.stream: Stream | None = None
        self.mirror: dict[Key, tuple[str, int]] = {}
        self.seen: list[tuple[Change, str, int]] = []
        self.events: list[Event] = []
        self.may_go_back = False
        self.cache.add_handler(self.on_event)

    def on_event(self, event: Event) -> None:
        self.events.append(event)
        known = self.mirror.get(event.key)
        match event.change:
            case Change.ADDED:
                assert known is None, "added twice"
                self.mirror[event.key] = (event.new.uid, event.new.version)
            case Change.MODIFIED:
                assert known is not None, "modified before it was added"
                assert known[0] == event.new.uid, "another object under the same name"
                assert known[1] < event.new.version or self.may_go_back, "went back in time"
                self.mirror[event.key] = (event.new.uid, event.new.version)
            case Change.DELETED:
                assert known is not None, "deleted twice"
                assert known[0] == event.new.uid
                del self.mirror[event.key]

    def fail(self, failure: Failure) -> None:
        self.stream = None
        self.tell(self.reflector.on_failure(failure, self.now))

    def tell(self, delta: Any) -> None:
        if delta is not None:
            self.cache.apply(delta)

    def step(self) -> bool:
        """One request, line or wait; False when there is nothing to do."""
        if self.stream is not None:
            return self.read()
        try:
            match self.reflector.next_action(self.now):
                case Wait(seconds):
                    self.now += seconds
                case FetchPage(options):
                    self.tell(self.reflector.on_page(self.model.list(options), self.now))
                case OpenStream(options):
                    self.stream = self.model.stream(options)
                    self.reflector.on_opened(self.now)
        except Refused as refused:
            self.fail(refused.failure)
        return True

    def read(self) -> bool:
        assert self.stream is not None
        line = self.stream.next() if self.stream.epoch == self.model.epoch else None
        if line is None:
            return False
        try:
            self.tell(self.reflector.on_line(line, self.now))
        except StreamBroken as broken:
            self.fail(broken.failure)
        return True

    def close(self) -> None:
        if self.stream is not None:
            self.stream = None
            self.reflector.on_closed(self.now)

    def settle(self) -> None:
        """Let everything heal and come to rest."""
        for _ in range(400):
            if not self.step():
                if self.stream is not None and self.stream.epoch != self.model.epoch:
                    self.close()
                    continue
                if self.reflector.health is Health.SYNCED and self.reflector.version >= 0:
                    if self.reflector.version <= self.model.version:
                        return
                    self.now += 100
                    self.silence()
        raise AssertionError("never came to rest")

    def silence(self) -> None:
        self.stream = None
        self.reflector.on_silence(self.now)


class ReflectorMachine(RuleBasedStateMachine):
    """Changes, reads and faults in any order; the end state must be the server's."""

    def __init__(self) -> None:
        super().__init__()
        self.model = Model()
        self.driver = Driver(self.model)
        self.expired = 0

    @rule(name=NAMES)
    def write(self, name: str) -> None:
        self.model.write(name)

    @rule(name=NAMES)
    def delete(self, name: str) -> None:
        if name in self.model.objects:
            self.model.delete(name)

    @rule(name=NAMES)
    def recreate(self, name: str) -> None:
        if name in self.model.objects:
            self.model.delete(name)
        self.model.write(name)

    @rule(steps=st.integers(1, 6))
    def run(self, steps: int) -> None:
        for _ in range(steps):
            self.driver.step()

    @rule(name=NAMES, early=st.integers(0, 3), late=st.integers(0, 2))
    def write_ourselves(self, name: str, early: int, late: int) -> None:
        key, cache = Key("ns", name), self.driver.cache
        is_synced = self.driver.reflector.health is Health.SYNCED
        with cache.hold_events(key):
            raw = self.model.write(name)
            written = self.model.version
            self.run(early) if early else None
            cache.record_write(raw, Author("test", key))
            if is_synced and not self.driver.may_go_back:
                found = cache.get(key)
                assert found is not None
                assert int(found.metadata.resource_version) >= written
        self.run(late) if late else None

    @rule(name=NAMES, early=st.integers(0, 3))
    def delete_ourselves(self, name: str, early: int) -> None:
        if name not in self.model.objects:
            return
        key, cache = Key("ns", name), self.driver.cache
        with cache.hold_events(key):
            uid = self.model.delete(name)
            self.run(early) if early else None
            cache.record_deletion(key, uid)
            found = cache.get(key)
            assert found is None or found.metadata.uid != uid

    @rule()
    def close(self) -> None:
        self.driver.close()

    @rule()
    def bookmark(self) -> None:
        if self.driver.stream is not None:
            self.driver.stream.is_bookmark_due = True

    @rule()
    def compact(self) -> None:
        self.model.compact()

    @rule(code=FAILURES)
    def fail(self, code: int) -> None:
        self.driver.fail(Failure(code, retry_after_s=3 if code == 429 else 0))

    @rule()
    def garbage(self) -> None:
        if self.driver.stream is not None:
            with pytest.raises(StreamBroken) as broken:
                self.driver.reflector.on_line(b'{"type":"ADDED","obj', self.driver.now)
            self.driver.fail(broken.value.failure)

    @rule()
    def silence(self) -> None:
        if self.driver.stream is not None:
            self.driver.now += 80
            self.driver.silence()

    @invariant()
    def handlers_never_saw_nonsense(self) -> None:
        """The asserts in `on_event` hold; nothing more is needed here."""

    def teardown(self) -> None:
        self.driver.settle()
        while self.model.version < self.model.highest:  # pass what was lost with old history
            self.model.write("d")
        self.driver.settle()
        cache = self.driver.cache
        expected = {
            Key("ns", name): (obj["metadata"]["uid"], int(obj["metadata"]["resourceVersion"]))
            for name, obj in self.model.objects.items()
        }
        held = {each.key: (each.uid, each.version) for each in cache.snapshots()}
        assert held == expected
        assert self.driver.mirror == expected


class ResettingMachine(ReflectorMachine):
    """The same with a server that loses its latest history now and then.

    We come back before the new history is as long as the lost one; later nobody could tell.
    Nor can a deletion of ours be told from one that the server acknowledged and then lost.
    """

    def delete_ourselves(self, name: str, early: int) -> None:
        """Left out here."""

    @precondition(lambda self: self.model.version > 12)
    @rule()
    def restore_older(self) -> None:
        self.model.restore_older()
        self.driver.may_go_back = True
        self.driver.settle()


for machine in (ReflectorMachine, ResettingMachine):
    machine.TestCase.settings = settings(
        max_examples=count_examples(120), stateful_step_count=40, deadline=None
    )
TestReflector = ReflectorMachine.TestCase
TestReflectorWithResets = ResettingMachine.TestCase


def test_a_server_without_streaming_lists_is_listed_page_by_page() -> None:
    model = Model(watch_list=False)
    for name in "abcde":
        model.write(name)
    driver = Driver(model)
    driver.settle()
    assert len(driver.cache) == 5
    assert driver.reflector.lists == 1
    driver.now += 60
    driver.close()
    driver.settle()
    assert driver.reflector.lists == 1  # nothing was lost: the version is still good


def test_an_expired_watch_costs_one_list_each() -> None:
    model = Model()
    driver = Driver(model)
    driver.settle()
    for expected in range(2, 6):
        driver.close()
        model.write("a")
        model.compact()
        driver.settle()
        assert driver.reflector.lists == expected
        assert driver.cache.get(Key("ns", "a")) is not None


def test_an_expired_watch_is_listed_at_once_but_not_again_and_again() -> None:
    settings = WatchSettings()
    driver = Driver(Model())
    waits = []
    for passed_s in (0.0, settings.relist_interval_s / 2, settings.relist_interval_s):
        driver.settle()
        driver.now += passed_s
        driver.stream = None
        driver.reflector.on_failure(Failure(410), driver.now)
        action = driver.reflector.next_action(driver.now)
        waits.append(action.seconds if isinstance(action, Wait) else 0.0)
    assert max(waits[0], waits[2]) <= settings.relist_jitter_s
    assert waits[1] >= settings.backoff_initial_s


def test_one_internal_error_among_successes_costs_no_list_and_no_wait() -> None:
    settings = WatchSettings()
    driver = Driver(Model())
    driver.settle()
    for _ in range(3):
        driver.now += settings.relist_interval_s
        driver.close()
        driver.reflector.on_failure(Failure(500), driver.now)
        action = driver.reflector.next_action(driver.now)
        assert isinstance(action, Wait) and action.seconds <= settings.relist_jitter_s
        driver.settle()
        assert driver.reflector.lists == 1


def test_internal_errors_that_repeat_are_waited_for_and_listed_anew() -> None:
    settings = WatchSettings()
    driver = Driver(Model())
    driver.settle()
    driver.close()
    waits = []
    for _ in range(4):  # slow failures: each takes longer than the pause between retries at once
        driver.now += 2 * settings.relist_interval_s
        driver.reflector.on_failure(Failure(503), driver.now)
        action = driver.reflector.next_action(driver.now)
        assert isinstance(action, Wait)
        waits.append(action.seconds)
        driver.now += action.seconds
    assert waits[0] <= settings.relist_jitter_s
    assert all(
        base <= wait < 2 * base for base, wait in zip([0.8, 1.6, 3.2], waits[1:], strict=True)
    )
    driver.settle()
    assert driver.reflector.lists == 2
    driver.now += settings.backoff_reset_s + 1  # quiet long enough: the delays begin anew
    driver.reflector.last_heard_at = driver.now
    driver.close()
    for most_s in (settings.relist_jitter_s, 2 * settings.backoff_initial_s):
        driver.reflector.on_failure(Failure(500), driver.now)
        action = driver.reflector.next_action(driver.now)
        assert isinstance(action, Wait) and action.seconds <= most_s


def test_a_server_that_asks_for_a_pause_gets_it() -> None:
    driver = Driver(Model())
    driver.settle()
    driver.close()
    driver.reflector.on_failure(Failure(503, retry_after_s=7), driver.now)
    assert driver.reflector.next_action(driver.now) == Wait(7)


def test_a_kind_that_is_not_served_empties_the_cache_and_comes_back() -> None:
    model = Model()
    model.write("a")
    driver = Driver(model)
    driver.settle()
    driver.close()
    gone = Failure(404)
    driver.fail(gone)
    assert driver.reflector.health is Health.ABSENT
    assert len(driver.cache) == 1  # told once: perhaps a mistake of a proxy
    driver.fail(gone)
    assert len(driver.cache) == 0
    assert driver.mirror == {}
    driver.settle()
    assert len(driver.cache) == 1


def test_an_object_whose_write_was_not_seen_yet_goes_with_its_kind() -> None:
    model = Model()
    model.write("a")
    driver = Driver(model)
    driver.settle()
    driver.close()  # before the event of the next write
    driver.cache.record_write(model.write("a"), Author("test", Key("default", "a")))
    driver.fail(Failure(404))
    assert len(driver.cache) == 1
    driver.fail(Failure(404))
    assert len(driver.cache) == 0
    assert driver.mirror == {}


def test_retry_after_is_a_minimum_and_absence_is_asked_often() -> None:
    reflector = Reflector(WatchSettings(), random.Random(0))
    reflector.on_failure(Failure(429, retry_after_s=120), 0.0)
    assert reflector.next_action(0.0) == Wait(120)
    for _ in range(20):
        reflector.on_failure(Failure(404), 200.0)
        wait = reflector.next_action(200.0)
        assert isinstance(wait, Wait)
        assert wait.seconds <= 5


def test_backoff_doubles_and_is_forgotten_after_two_quiet_minutes() -> None:
    reflector = Reflector(WatchSettings(), random.Random(0))
    waits, now = [], 0.0
    for _ in range(8):
        reflector.on_failure(Failure(500), now)
        if isinstance(wait := reflector.next_action(now), Wait):
            waits.append(wait.seconds)
            now += wait.seconds
    assert all(base <= wait < 2 * base for base, wait in zip([0.8, 1.6, 3.2], waits, strict=False))
    assert max(waits) < 60
    reflector.on_failure(Failure(500), now + 121)
    wait = reflector.next_action(now + 121)
    assert isinstance(wait, Wait)
    assert wait.seconds < 1.6


def test_a_stream_that_is_cut_is_reopened_where_it_was() -> None:
    reflector = Reflector(WatchSettings(), random.Random(0))
    reflector.on_page(ListPage((), "7"), 0.0)
    for now in (10.0, 20.0, 30.0):
        assert isinstance(reflector.next_action(now), OpenStream)
        reflector.on_opened(now)
        reflector.on_failure(Failure(0, "ConnectionClosed"), now + 5.0)
        action = reflector.next_action(now + 5.0)
        assert isinstance(action, OpenStream)
        assert action.options.resource_version == "7"
    reflector.on_failure(Failure(0, "Refused"), 40.0)
    assert isinstance(reflector.next_action(40.0), Wait), "a refused connection is not a cut stream"


def test_one_short_watch_costs_no_list_and_no_wait_and_more_of_them_do() -> None:
    settings = WatchSettings()
    driver = Driver(Model(watch_list=False))
    driver.settle()
    waits, lists = [], []
    for lasted_s in (0.5, 0.5, 0.5, 5.0, 0.5):
        driver.now += lasted_s
        driver.close()
        action = driver.reflector.next_action(driver.now)
        waits.append(action.seconds if isinstance(action, Wait) else 0.0)
        driver.settle()
        lists.append(driver.reflector.lists)
    assert max(waits[0], waits[3], waits[4]) <= settings.relist_jitter_s
    assert settings.backoff_initial_s <= waits[1] < waits[2], "the server ends every watch at once"
    assert lists == [1, 2, 3, 3, 3]


def test_an_internal_error_right_after_a_short_watch_is_repeated_at_once_too() -> None:
    settings = WatchSettings()
    driver = Driver(Model(watch_list=False))
    driver.settle()
    driver.now += 0.5
    driver.close()
    driver.step()
    driver.reflector.on_failure(Failure(500), driver.now)
    action = driver.reflector.next_action(driver.now)
    assert isinstance(action, Wait) and action.seconds <= settings.relist_jitter_s


def test_a_login_failure_is_tried_once_more_at_once() -> None:
    reflector = Reflector(WatchSettings(), random.Random(0))
    reflector.next_action(0.0)
    reflector.on_failure(Failure(401), 0.0)
    assert isinstance(reflector.next_action(0.0), OpenStream)
    reflector.on_failure(Failure(401), 0.0)
    assert isinstance(reflector.next_action(0.0), Wait)


def test_an_own_write_is_recognized_only_when_nothing_foreign_lies_before_it() -> None:
    model = Model()
    model.write("a")
    driver = Driver(model)
    driver.settle()
    key, author = Key("ns", "a"), Author("test", Key("ns", "a"))
    driver.cache.record_write(model.write("a"), author)
    driver.settle()
    assert [event.author for event in driver.events] == [None, author]
    model.write("a")  # somebody else
    driver.cache.record_write(model.write("a"), author)
    driver.settle()
    assert [event.author for event in driver.events[2:]] == [None, author]
    model.write("a")
    driver.cache.record_write(model.write("a"), author)
    model.compact()  # what lies between is lost
    driver.close()
    driver.settle()
    assert driver.events[-1].author is None
    assert driver.cache.version() == model.version
    assert driver.cache.get(key) is not None


def test_late_handlers_get_everything_as_additions() -> None:
    model = Model()
    model.write("a")
    driver = Driver(model)
    driver.settle()
    late: list[Event] = []
    driver.cache.add_handler(late.append)
    assert [(event.change, event.is_initial) for event in late] == [(Change.ADDED, True)]
    model.delete("a")
    driver.settle()
    assert [event.change for event in late] == [Change.ADDED, Change.DELETED]


def test_indexes_follow_changes_and_unknown_ones_are_named() -> None:
    model = Model()
    model.write("a")
    driver = Driver(model)
    driver.cache.add_index("parity", lambda thing: [str(thing.value % 2)])
    driver.settle()
    assert [thing.value for thing in driver.cache.list(index=("parity", "1"))] == [11]
    model.write("a")
    driver.settle()
    assert driver.cache.list(index=("parity", "1")) == []
    assert [thing.value for thing in driver.cache.list(index=("parity", "0"))] == [12]
    with pytest.raises(KeyError, match="parity"):
        driver.cache.list(index=("color", "red"))
