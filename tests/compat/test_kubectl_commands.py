"""kubectl's own command tests, fetched and unmodified, on our API server."""

from pathlib import Path

import pytest
from tests.compat import kubectl_commands
from tests.compat.suites import KUBECTL_KNOWN

pytestmark = [pytest.mark.slow, pytest.mark.full, pytest.mark.timeout(5400)]

ALL_GROUPS = 89
"""How many there are at least, so that a run that ends early is noticed."""


def test_the_command_tests_pass_but_for_what_is_known(tmp_path: Path) -> None:
    work = kubectl_commands.fetch(tmp_path)
    result = kubectl_commands.run(work)
    assert result.failed <= set(KUBECTL_KNOWN), result.output[-8000:]
    assert len(result.begun) >= ALL_GROUPS, result.output[-8000:]
