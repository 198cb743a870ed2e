"""What agents report about their configuration, with a model of how Alloy does it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quarterdeck.services.fleet import collectors as rules
from quarterdeck.services.fleet.config_status import is_fetch_failure
from quarterdeck.services.fleet.records import Collector

NOW = "2026-01-01T00:00:00Z"
UNREACHABLE = "unavailable: dial tcp 127.0.0.1:8089: connect: connection refused"
BROKEN = "component not found"


class Server:
    """The record of one collector, and the text it should run."""

    def __init__(self) -> None:
        self.record = Collector(id="edge-1")
        self.text = "good-0"

    def answer(self, request: dict[str, Any]) -> tuple[str, str]:
        self.record = rules.record_poll(self.record, request, NOW)
        hash_ = f"hash of {self.text}"
        if self.record.served_hash != hash_:
            self.record = rules.record_served(self.record, hash_, (f"1:{self.text}",))
        return ("", hash_) if request["hash"] == hash_ else (self.text, hash_)


class Agent:
    """Alloy 1.12: it sends a status when it differs from the last one sent, once more at once."""

    def __init__(self) -> None:
        self.hash = self.received = self.loaded = ""
        self.status = ("UNSET", "")
        self.sent: tuple[str, str] | None = None

    def poll(self, server: Server, *, reachable: bool = True) -> None:
        if not reachable:
            self.status, self.sent = ("FAILED", UNREACHABLE), None
            return
        self._take(*self._ask(server))
        if self.sent != self.status:
            self._ask(server)  # it drops this answer

    def _ask(self, server: Server) -> tuple[str, str]:
        request: dict[str, Any] = {"id": "edge-1", "hash": self.hash}
        if self.sent != self.status:
            word, error = self.sent = self.status
            report = {"status": f"RemoteConfigStatuses_{word}", "errorMessage": error}
            request["remoteConfigStatus"] = report
        return server.answer(request)

    def _take(self, text: str, hash_: str) -> None:
        if not text:  # not modified
            if self.loaded and self.loaded == self.received:
                self.status = ("APPLIED", "")
            return
        self.hash = hash_
        if text == self.received:
            return
        self.received = text
        if text == self.loaded or text.startswith("good"):
            self.loaded, self.status = text, ("APPLIED", "")
        else:
            self.status = ("FAILED", BROKEN)


EVENTS = st.one_of(
    st.sampled_from(["good", "bad"]),
    st.sampled_from(["poll", "lost poll", "restart"]),
)


@given(st.lists(EVENTS, max_size=30))
def test_the_record_says_what_the_agent_runs(events: list[str]) -> None:
    server, agent = Server(), Agent()
    for number, event in enumerate(events):
        match event:
            case "good" | "bad":
                server.text = f"{event}-{number}"
            case "restart":
                agent = Agent()
            case _:
                agent.poll(server, reachable=event == "poll")
        assert server.record.status != "FAILED" or server.record.served[0].startswith("1:bad")
    agent.poll(server)
    agent.poll(server)
    expected = "APPLIED" if server.text.startswith("good") else "FAILED"
    assert server.record.status == expected
    assert server.record.error_message == ("" if expected == "APPLIED" else BROKEN)
    if expected == "APPLIED":
        assert server.record.applied == (f"1:{server.text}",)


def test_an_outage_of_the_server_is_no_failure_of_the_text() -> None:
    server, agent = Server(), Agent()
    agent.poll(server)
    assert server.record.status == "APPLIED"
    agent.poll(server, reachable=False)
    agent.poll(server)
    assert server.record.status == "APPLIED"


def test_two_texts_that_fail_alike_have_both_failed() -> None:
    server, agent = Server(), Agent()
    for server.text in ("bad-1", "bad-2"):
        agent.poll(server)
        agent.poll(server)
        assert (server.record.status, server.record.error_message) == ("FAILED", BROKEN)
    assert server.record.applied == ()


def test_a_failure_of_an_older_text_is_not_that_of_the_newest() -> None:
    record = rules.record_served(Collector(id="edge-1"), "new", ("1:new",))
    report = {"status": "RemoteConfigStatuses_FAILED", "errorMessage": BROKEN}
    late = rules.record_poll(
        record, {"id": "edge-1", "hash": "old", "remoteConfigStatus": report}, NOW
    )
    assert late.status == "APPLYING"


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (UNREACHABLE, True),
        ("deadline_exceeded: context deadline exceeded", True),
        ("resource_exhausted", True),
        (BROKEN, False),
        ("Failed to build component: unavailable: x", False),
        ("", False),
    ],
)
def test_fetch_failures_are_told_by_their_code(error: str, expected: bool) -> None:
    assert is_fetch_failure(error) is expected
