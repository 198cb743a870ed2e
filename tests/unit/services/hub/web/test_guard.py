"""Requests of other sites, of rebound host names, and without the session's token."""

import pytest

from quarterdeck.kit.http import Request
from quarterdeck.services.hub.web import guard


def ask(method: str = "GET", **headers: str) -> Request:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Request.of(method, "/", headers={"host": "127.0.0.1:8088", **named}.items())


@pytest.mark.parametrize(
    ("headers", "found"),
    [
        pytest.param({}, "", id="a program"),
        pytest.param({"sec_fetch_site": "same-origin"}, "", id="our page"),
        pytest.param({"host": "evil.example:8088"}, "Host", id="a rebound name"),
        pytest.param({"sec_fetch_site": "cross-site"}, "Sec-Fetch-Site", id="another site"),
        pytest.param({"origin": "https://evil.example"}, "Origin", id="another origin"),
        pytest.param({"origin": "http://127.0.0.1:9999"}, "Origin", id="another port"),
    ],
)
def test_foreign_requests_are_named_by_their_header(headers: dict[str, str], found: str) -> None:
    header = guard.find_foreign_site(ask(**headers), is_loopback=True)
    assert header.partition(" ")[0] == found


def test_a_hub_answers_under_its_own_name_and_refuses_other_origins() -> None:
    own = {"host": "hub.example", "origin": "https://hub.example"}
    assert guard.find_foreign_site(ask(**own), is_loopback=False) == ""
    other = {"host": "hub.example", "origin": "https://evil.example"}
    assert guard.find_foreign_site(ask(**other), is_loopback=False).startswith("Origin")


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE"])
def test_changes_need_the_token_of_the_session(method: str) -> None:
    assert guard.is_missing_csrf_token(ask(method), "token")
    assert guard.is_missing_csrf_token(ask(method, x_csrf_token="other"), "token")
    assert not guard.is_missing_csrf_token(ask(method, x_csrf_token="token"), "token")
    assert not guard.is_missing_csrf_token(ask("GET"), "token")


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_hub_refuses_pages_of_other_sites(site: str) -> None:
    header = guard.find_foreign_site(ask(sec_fetch_site=site), is_loopback=False)
    assert header == f'Sec-Fetch-Site "{site}"'
