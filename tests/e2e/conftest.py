"""Real `quarterdeck server` processes, and our image."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import oci_image
import pytest
import server_process

Serve = Callable[..., AbstractContextManager[Path]]


@pytest.fixture(scope="session")
def serve() -> Serve:
    """Starts a server in a folder with more flags; gives its kubeconfig, and ends it well."""
    return server_process.serve


@pytest.fixture(scope="session")
def oci_layout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Our image, assembled once for all tests of a run."""
    folder = tmp_path_factory.mktemp("image")
    folder.parent.chmod(0o755)  # the user of the image looks into it
    return oci_image.find_or_assemble(folder)
