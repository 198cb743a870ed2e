"""Sessions of browsers: links that work once, cookies, and their end."""

import pytest

from quarterdeck.kit.http import Request
from quarterdeck.services.hub.web.sessions import Sessions, build_cookie, matches
from quarterdeck.testing import VirtualClock

HOST = ("host", "127.0.0.1:8088")


def ask(*headers: tuple[str, str]) -> Request:
    return Request.of("GET", "/", headers=[HOST, *headers])


def with_cookie(value: str) -> Request:
    cookie = build_cookie(ask(), value).partition(";")[0]
    return ask(("cookie", f"other=1; {cookie}"))


def test_a_link_opens_one_session_once() -> None:
    sessions = Sessions(clock=VirtualClock(), links={"code": "secret"})
    value = sessions.redeem_link("code")
    assert value is not None
    found = sessions.find(with_cookie(value))
    assert found is not None
    assert found.token.reveal() == "secret"
    assert sessions.redeem_link("code") is None
    assert sessions.redeem_link("other") is None


async def test_a_session_ends_after_its_lifetime() -> None:
    clock = VirtualClock()
    sessions = Sessions(clock=clock, lifetime_s=60.0)
    value = sessions.open("secret")
    assert sessions.find(with_cookie(value)) is not None
    await clock.advance(61.0)
    assert sessions.find(with_cookie(value)) is None


def test_a_closed_session_is_not_found() -> None:
    sessions = Sessions(clock=VirtualClock())
    value = sessions.open("secret")
    found = sessions.find(with_cookie(value))
    assert found is not None
    sessions.close(found)
    assert sessions.find(with_cookie(value)) is None


def test_the_cookie_is_of_one_port_and_closed_to_scripts_and_other_sites() -> None:
    cookie = build_cookie(ask(), "abc")
    assert cookie.startswith("quarterdeck-8088=abc; Path=/; HttpOnly; SameSite=Strict")
    other = Request.of("GET", "/", headers=[("host", "127.0.0.1:9999"), ("cookie", cookie)])
    assert Sessions(clock=VirtualClock()).find(other) is None


@pytest.mark.parametrize("value", ["", "x", "quarterdeck-8088"])
def test_a_wrong_cookie_finds_nothing(value: str) -> None:
    sessions = Sessions(clock=VirtualClock())
    sessions.open("secret")
    assert sessions.find(with_cookie(value)) is None


def test_tokens_of_pages_are_compared_whole() -> None:
    assert matches("abc", "abc")
    assert not matches("ab", "abc")
    assert not matches(None, "abc")


def test_the_oldest_session_goes_when_there_are_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quarterdeck.services.hub.web.sessions.MAX_SESSIONS", 2)
    sessions = Sessions(clock=VirtualClock())
    values = [sessions.open("secret", user=user) for user in ("ann", "bob", "eve")]
    found = [sessions.find(with_cookie(value)) is not None for value in values]
    assert found == [False, True, True]
