"""The console of a machine in the dashboard, and who may read it."""

import urllib.error
import urllib.request
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Demo, find_violations

pytestmark = pytest.mark.slow
expect.set_options(timeout=WAIT_MS)
GROUP = "hypervisor.hyperfleet.io"
CLAIM = f"/apis/{GROUP}/v1alpha1/namespaces/default/machineclaims/workbench"
RBAC = "rbac.authorization.k8s.io"


def test_a_machine_shows_its_console(page: Page, demo: Demo) -> None:
    page.goto(f"{demo.url}/machines/claims/default/workbench")
    console = page.get_by_role("log", name="Console")
    expect(console).to_contain_text("login:")
    assert find_violations(page) == []


@pytest.fixture
def reader(demo: Demo) -> str:
    """The token of an account that may read machines, and not their consoles."""
    account = "/api/v1/namespaces/default/serviceaccounts"
    rules = [{"apiGroups": [GROUP], "resources": ["machineclaims"], "verbs": ["get", "list"]}]
    role: dict[str, Any] = {"metadata": {"name": "machine-reader"}, "rules": rules}
    subject = {"kind": "ServiceAccount", "name": "machine-reader", "namespace": "default"}
    binding = {
        "metadata": {"name": "machine-reader"},
        "roleRef": {"apiGroup": RBAC, "kind": "ClusterRole", "name": "machine-reader"},
        "subjects": [subject],
    }
    demo.call("POST", account, {"metadata": {"name": "machine-reader"}})
    demo.call("POST", f"/apis/{RBAC}/v1/clusterroles", role)
    demo.call("POST", f"/apis/{RBAC}/v1/clusterrolebindings", binding)
    answer = demo.call("POST", f"{account}/machine-reader/token", {"spec": {}})
    return str(answer["status"]["token"])


def test_reading_a_machine_is_not_reading_its_console(
    page: Page, demo: Demo, reader: str, open_browser: Any
) -> None:
    other = open_browser().new_page()
    other.goto(demo.url)
    other.get_by_label("Bearer token").fill(reader)
    other.get_by_role("button", name="Log in").click()
    expect(other.get_by_role("heading", level=1)).to_have_text("Overview")
    other.goto(f"{demo.url}/machines/claims/default/workbench")
    expect(other.get_by_role("heading", level=1)).to_have_text("workbench")
    expect(other.get_by_text("is forbidden: the verb get on machineclaims/console")).to_be_visible()
    expect(other.get_by_role("link", name="YAML")).to_be_visible()
    expect(other.get_by_role("link", name="Edit")).to_have_count(0)
    page.goto(f"{demo.url}/machines/claims/default/workbench")
    expect(page.get_by_role("link", name="Edit")).to_be_visible()


def test_nobody_reads_a_console_without_a_session(demo: Demo) -> None:
    with pytest.raises(urllib.error.HTTPError) as caught:
        urllib.request.urlopen(f"{demo.url}/console?path={CLAIM}", timeout=240)
    assert caught.value.code == 401
    caught.value.close()
