"""Real `quarterdeck server` processes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
import server_process

Serve = Callable[..., AbstractContextManager[Path]]


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts a server in a folder with more flags; gives its kubeconfig, and ends it well."""
    return server_process.serve
