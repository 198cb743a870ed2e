"""What holds for every view: a small first load from one host, no polling, two themes, hints."""

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Response, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo, find_violations

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
FIRST_LOAD = 200_000
HOUR_MS = 3_600_000


def test_the_first_load_is_small_and_of_one_host(page: Page, demo: Demo) -> None:
    files: list[Response] = []
    complaints: list[str] = []
    page.on("response", lambda answer: files.append(answer))
    page.on("console", lambda message: complaints.append(message.text))
    page.goto(demo.url)
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    assert {urlsplit(each.url).netloc for each in files} == {urlsplit(demo.url).netloc}
    page_files = [each for each in files if not re.search("/(k8s|api|watch|session)", each.url)]
    sizes = [int(each.headers["content-length"]) for each in page_files]
    assert 10_000 < sum(sizes) < FIRST_LOAD
    policy = page_files[0].headers["content-security-policy"]
    assert "script-src 'self'" in policy and "unsafe" not in policy
    assert complaints == [], "the browser blocked nothing"


def test_nothing_is_polled(page: Page, demo: Demo) -> None:
    page.clock.install()
    page.goto(f"{demo.url}/clusters")
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    expect(page.get_by_role("link", name="Demo Lost")).to_be_visible()
    page.goto(f"{demo.url}/objects/core/v1/configmaps")
    expect(page.get_by_role("row").nth(1)).to_be_visible()
    expect(page.get_by_text("Live", exact=True)).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(urlsplit(request.url).path))
    page.clock.fast_forward(HOUR_MS)  # every timer that would ask again is due
    page.clock.fast_forward(HOUR_MS)
    demo.create_config_map("after-two-hours")
    expect(page.get_by_role("link", name="after-two-hours")).to_be_visible()
    assert set(asked) <= {"/watch"}, "a stream that was silent is opened again, nothing is listed"
    demo.call("DELETE", "/api/v1/namespaces/default/configmaps/after-two-hours")


def test_a_chosen_theme_stays(page: Page, demo: Demo) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(demo.url)
    root = page.locator("html")
    expect(root).to_have_attribute("data-theme", "light")
    page.get_by_role("button", name="Dark or light").click()
    expect(root).to_have_attribute("data-theme", "dark")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    expect(root).to_have_attribute("data-theme", "dark")


HINTS = {
    "/applications": "No application yet",
    "/pipelines": "No pipeline yet",
    "/machines": "No fleet yet",
    "/experiments": "No experiment yet",
    "/objects/apps/v1/deployments": "No Deployment yet",
}


def test_empty_views_say_what_to_do_next(page: Page, demo: Demo) -> None:
    page.goto(demo.url)
    page.get_by_label("Namespace", exact=True).fill("kube-public")
    page.get_by_label("Namespace", exact=True).press("Enter")
    for path, title in HINTS.items():
        page.goto(demo.url + path)
        hint = page.locator(".empty").filter(has_text=title)
        expect(hint).to_be_visible()
        expect(hint.locator("pre")).to_contain_text(re.compile("^(kubectl|quarterdeck) "))
        assert (path, find_violations(page)) == (path, [])
