"""Logging in through an OpenID provider, in a real Chromium."""

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from openid_provider import CLIENT, OpenIdProvider, serve_provider
from playwright.sync_api import expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo, Open, find_violations, running_up

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)


@pytest.fixture
def provider(tmp_path: Path) -> Iterator[tuple[OpenIdProvider, Path]]:
    """A provider in a thread: this one belongs to the browser's loop."""
    found: list[tuple[OpenIdProvider, Path]] = []
    ready, loop, done = threading.Event(), asyncio.new_event_loop(), asyncio.Event()

    async def run() -> None:
        async with serve_provider(tmp_path) as served:
            found.append(served)
            ready.set()
            await done.wait()

    thread = threading.Thread(target=lambda: loop.run_until_complete(run()))
    thread.start()
    assert ready.wait(240)
    yield found[0]
    loop.call_soon_threadsafe(done.set)
    thread.join(240)
    loop.close()


@pytest.fixture
def hub(provider: tuple[OpenIdProvider, Path], tmp_path: Path) -> Iterator[Demo]:
    """`up` that trusts the provider, and a group of it that may read ConfigMaps."""
    issuer, ca_file = provider
    issuer.secret, issuer.is_interactive = "", True
    flags = ("--hub-oidc-issuer", issuer.url, "--hub-oidc-client-id", CLIENT)
    with running_up(tmp_path, *flags, "--hub-oidc-ca-file", str(ca_file)) as found:
        rules = [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["list", "watch"]}]
        rbac = "/apis/rbac.authorization.k8s.io/v1"
        found.call("POST", f"{rbac}/clusterroles", {"metadata": {"name": "maps"}, "rules": rules})
        group = {"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": "devs"}
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "maps"}
        binding = {"metadata": {"name": "maps"}, "roleRef": role, "subjects": [group]}
        found.call("POST", f"{rbac}/clusterrolebindings", binding)
        found.create_config_map("of-everybody")
        yield found


def test_a_user_of_the_provider_logs_in_and_out(open_browser: Open, hub: Demo) -> None:
    page = open_browser(ignore_https_errors=True).new_page()
    page.goto(f"{hub.url}/objects/core/v1/configmaps")
    button = page.get_by_role("link", name="Log in with 127.0.0.1")
    expect(button).to_be_visible()
    assert find_violations(page) == []
    button.click()
    page.get_by_role("link", name="Continue as ann@example.com").click()
    expect(page).to_have_url(f"{hub.url}/objects/core/v1/configmaps")
    expect(page.get_by_text("ann@example.com")).to_be_visible()
    expect(page.get_by_role("link", name="of-everybody")).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    page.goto(f"{hub.url}/objects/core/v1/secrets")
    expect(page.get_by_role("main")).to_contain_text("forbidden")
    page.get_by_role("button", name="Log out").click()
    expect(button).to_be_visible()
    assert page.evaluate("document.cookie") == ""


def test_a_login_that_the_provider_refuses_is_explained(
    open_browser: Open, hub: Demo, provider: tuple[OpenIdProvider, Path]
) -> None:
    provider[0].refusal = "access_denied"
    page = open_browser(ignore_https_errors=True).new_page()
    page.goto(hub.url)
    page.get_by_role("link", name="Log in with 127.0.0.1").click()
    page.get_by_role("link", name="Continue as ann@example.com").click()
    expect(page.get_by_role("main")).to_contain_text("did not log you in")
