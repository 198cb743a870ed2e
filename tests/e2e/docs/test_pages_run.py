"""The commands of the pages are run, in their order, and print what the pages show."""

import re
from pathlib import Path

import pytest
from page_blocks import PAGES, ROOT, list_blocks
from page_reader import reading
from page_steps import Command, list_steps

from quarterdeck.testing import programs

pytestmark = pytest.mark.slow
DEFAULT = (
    "README.md",
    "docs/how-to/use-the-http-api.md",
    "docs/tutorial/first-application.md",
    "docs/tutorial/first-pipeline.md",
)
"""What a newcomer reads first; the other pages are read in `make test-full`."""


def list_pages() -> list[object]:
    names = [
        str(page.relative_to(ROOT))
        for page in PAGES
        if any(block.is_shell and not block.not_run for block in list_blocks(page))
    ]
    return [
        pytest.param(each, marks=() if each in DEFAULT else pytest.mark.full, id=each)
        for each in names
    ]


@pytest.mark.parametrize("page", list_pages())
def test_page_does_what_it_says(page: str, tmp_path: Path) -> None:
    steps = list_steps(ROOT / page)
    typed = "".join(step.text for step in steps if isinstance(step, Command))
    for program in ("kubectl", "jq", "openssl", "qemu-img", "redis-server", "go"):
        if re.search(rf"\b{program} ", typed):
            programs.require(program)
    if "attested.qcow2" in typed and not (ROOT / ".tools/vm/attested.qcow2").exists():
        programs.require("attested.qcow2")
    if "helm " in typed and not (ROOT / ".tools/bin/helm").exists():
        programs.require("helm", install="bash tools/helm.sh .tools")
    starts_up = re.search(r"make run|quarterdeck (up|server --)", typed) is None
    with reading(tmp_path, starts_up=starts_up) as reader:
        for step in steps:
            reader.do(step)
