"""Clients as their users install them, unchanged, against a real server process."""

from collections.abc import Callable

import pytest

pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("official.py", id="kubernetes"),
        pytest.param("asynchronous.py", id="kubernetes_asyncio"),
        pytest.param("kopf_life.py", id="kopf"),
        pytest.param("kr8s_client.py", id="kr8s"),
        pytest.param("lightkube_client.py", id="lightkube"),
    ],
)
def test_client_works_unchanged(run_script: Callable[..., str], script: str) -> None:
    assert run_script(script).endswith("ok\n")
