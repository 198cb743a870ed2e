"""Our CRDs before Kubernetes' own validation, rule costs included; needs Go and its modules."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).parent
ROOT = HERE.parents[2]


@pytest.mark.full
@pytest.mark.slow
@pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
def test_kubernetes_accepts_our_manifests(tmp_path: Path) -> None:
    source = tmp_path / "oracle"
    shutil.copytree(HERE / "crd_oracle", source)
    go = {**os.environ, "GOFLAGS": "-mod=mod"}
    subprocess.run(["go", "mod", "tidy"], cwd=source, env=go, check=True, capture_output=True)
    manifests = sorted(str(path) for path in (ROOT / "config/crd/bases").glob("*.yaml"))
    assert manifests
    done = subprocess.run(
        ["go", "run", ".", *manifests],
        cwd=source,
        env=go,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout == ""
