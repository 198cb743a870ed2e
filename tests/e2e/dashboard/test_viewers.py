"""Who sees what: one-time links, tokens, a restricted viewer, and requests of other sites."""

import urllib.error
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo, Open, find_violations

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
RBAC = "/apis/rbac.authorization.k8s.io/v1/namespaces/team"


@pytest.fixture
def token(demo: Demo) -> str:
    """The token of a service account that may read ConfigMaps of one namespace."""
    for path, body in (
        ("/api/v1/namespaces", {"kind": "Namespace", "metadata": {"name": "team"}}),
        ("/api/v1/namespaces/team/serviceaccounts", {"metadata": {"name": "viewer"}}),
        (
            f"{RBAC}/roles",
            {
                "metadata": {"name": "reader"},
                "rules": [
                    {
                        "apiGroups": [""],
                        "resources": ["configmaps"],
                        "verbs": ["get", "list", "watch"],
                    }
                ],
            },
        ),
        (
            f"{RBAC}/rolebindings",
            {
                "metadata": {"name": "reader"},
                "roleRef": {
                    "apiGroup": "rbac.authorization.k8s.io",
                    "kind": "Role",
                    "name": "reader",
                },
                "subjects": [{"kind": "ServiceAccount", "name": "viewer", "namespace": "team"}],
            },
        ),
    ):
        demo.call("POST", path, body)
    demo.create_config_map("team-settings", "team")
    path = "/api/v1/namespaces/team/serviceaccounts/viewer/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    found: str = demo.call("POST", path, body)["status"]["token"]
    return found


def log_in(page: Page, demo: Demo, token: str) -> None:
    page.goto(demo.url)
    page.get_by_label("Bearer token").fill(token)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")


def test_a_link_that_was_used_leads_to_the_login_page(
    open_browser: Open, demo: Demo, administrator: Any
) -> None:
    page = open_browser().new_page()
    page.goto(demo.link)
    expect(page.get_by_text("This link was used before")).to_be_visible()
    assert find_violations(page) == []
    page.get_by_label("Bearer token").fill("wrong")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_have_text("the token is not valid")


def test_a_restricted_viewer_sees_their_namespace_and_nothing_else(
    open_browser: Open, demo: Demo, token: str
) -> None:
    page = open_browser().new_page()
    log_in(page, demo, token)
    main = page.get_by_role("main")
    expect(main).to_contain_text("Events are not shown to you")
    expect(main.get_by_role("link", name="Experiments")).to_contain_text("Not shown to you")
    expect(main).not_to_contain_text("Demo Lost")
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_role("link", name="team-settings")).to_be_visible()
    page.goto(f"{demo.url}/objects/core/v1/configmaps/team/team-settings")
    expect(page.get_by_role("link", name="YAML")).to_be_visible()
    expect(page.get_by_role("button", name="Delete")).to_have_count(0)
    expect(page.get_by_role("navigation", name="Sections").get_by_text("Edit")).to_have_count(0)
    page.goto(f"{demo.url}/objects/core/v1/secrets")
    expect(main).to_contain_text("Listing secrets here is forbidden")
    page.goto(f"{demo.url}/clusters")
    expect(main).to_contain_text("No cluster is watched yet")
    page.get_by_role("button", name="Log out").click()
    expect(page.get_by_label("Bearer token")).to_be_visible()


def test_values_of_secrets_come_only_when_asked_for(page: Page, demo: Demo) -> None:
    body = {"metadata": {"name": "hidden"}, "stringData": {"password": "correct horse"}}
    demo.call("POST", "/api/v1/namespaces/default/secrets", body)
    bodies: list[str] = []
    page.on("response", lambda answer: bodies.append(answer.url))
    page.goto(f"{demo.url}/objects/core/v1/secrets/default/hidden?tab=yaml")
    value = "Y29ycmVjdCBob3JzZQ=="
    code = page.get_by_text("password:")
    expect(code).to_contain_text("hidden, 20 characters")
    page.get_by_role("button", name="Show values").click()
    expect(code).to_contain_text(value)
    assert sum("reveal=true" in url for url in bodies) == 1
    demo.call("DELETE", "/api/v1/namespaces/default/secrets/hidden")


@pytest.mark.parametrize(
    ("path", "headers", "status"),
    [
        pytest.param("/k8s/api/v1/pods", {}, 401, id="nobody"),
        pytest.param("/watch?hub=1", {}, 401, id="nobody follows"),
        pytest.param("/session", {"Host": "evil.example"}, 403, id="a rebound name"),
        pytest.param("/session", {"Origin": "https://evil.example"}, 403, id="another site"),
        pytest.param("/why?path=/api/v1/namespaces/a", {}, 401, id="nobody asks why"),
    ],
)
def test_requests_without_a_session_or_from_elsewhere_are_refused(
    demo: Demo, path: str, headers: dict[str, str], status: int
) -> None:
    mode = {"Sec-Fetch-Mode": "cors"}
    request = urllib.request.Request(demo.url + path, headers={**mode, **headers})
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(request, timeout=240)
    assert caught.value.code == status
    caught.value.close()


def test_a_change_needs_the_token_of_the_page(page: Page, demo: Demo) -> None:
    page.goto(demo.url)
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    script = """() => fetch("/k8s/api/v1/namespaces/default/configmaps/x", {method: "DELETE"})
        .then(answer => answer.status)"""
    assert page.evaluate(script) == 403
