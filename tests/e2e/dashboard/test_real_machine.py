"""A real VM in the browser: local QEMU, a TPM that proves it, and its console while it boots."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect
from tests.e2e.dashboard.conftest import WAIT_MS, Open, find_violations
from tests.e2e.machines.test_attested_vm import prepare
from tests.e2e.machines.test_local_vm import Up, running_up

pytestmark = [pytest.mark.slow, pytest.mark.full]
expect.set_options(timeout=WAIT_MS)
BOOT_MS = 300_000
"""In emulation, on a busy machine; the limit only detects hangs."""


@pytest.fixture
def up(tmp_path: Path, chromium: Browser) -> Iterator[Up]:
    """`quarterdeck up` on local QEMU, with its dashboard on a free port."""
    ports = [f"--{each}-port=0" for each in ("dashboard", "ingester", "webhook")]
    with running_up(tmp_path, "--operators=machines,clusters", *ports) as started:
        yield started


def test_a_local_vm_shows_its_console_and_how_it_proved_itself(open_browser: Open, up: Up) -> None:
    prepare(up)
    up.wait("a machine", lambda: up.files.list_ids() != [])
    (claim,) = up.objects("machineclaims")
    link = re.search(r"Open\s+(http\S+)", up.log())
    assert link is not None
    page = open_browser().new_page()
    page.goto(link[1])
    expect(page.get_by_role("heading", level=1)).to_have_text("Overview")
    name = claim["metadata"]["name"]
    page.goto(f"{link[1].partition('/login')[0]}/machines/claims/default/{name}")
    console = page.get_by_role("log", name="Console")
    expect(console).to_contain_text("machine: kernel", timeout=BOOT_MS)
    expect(console).to_contain_text("reported Ready", timeout=BOOT_MS)
    steps = page.get_by_test_id("timeline").get_by_role("listitem")
    expect(steps.locator("strong")).to_have_text(
        ["Claimed", "Template found", "Cloned", "Started", "Attested", "Bootstrapped", "Ready"]
    )
    expect(page.locator("[data-testid=timeline] li.done")).to_have_count(7, timeout=BOOT_MS)
    text = console.inner_text()
    assert "\x1b" not in text, "what a terminal would act on is not shown"
    log = up.files.at(up.files.list_ids()[0]).console_log.read_text(errors="replace")
    ready = next(line for line in log.splitlines() if "reported Ready" in line)
    assert ready.strip() in text
    assert find_violations(page) == []
