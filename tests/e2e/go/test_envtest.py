"""Go's envtest, from controller-runtime, on the programs of `quarterdeck envtest`."""

import os
import shutil
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

from quarterdeck.kit.free_port import find_free_port
from quarterdeck.testing.poll import eventually

HERE = Path(__file__).parent


def write_programs(folder: Path) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "quarterdeck.cli", "envtest", "--dir", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.splitlines()[-1])


def find_go() -> str:
    """The Go toolchain; its absence skips unless it is required."""
    go = shutil.which("go")
    if go is not None:
        return go
    if "go" in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").split(","):
        pytest.fail("Go is required and not installed")
    pytest.skip("Go is not installed")


@pytest.mark.slow
@pytest.mark.full
@pytest.mark.timeout(900)
def test_a_go_suite_passes_unchanged(tmp_path: Path) -> None:
    go = find_go()
    assets = write_programs(tmp_path / "assets")
    work = tmp_path / "suite"
    shutil.copytree(HERE / "envtest", work)
    environment = {**os.environ, "KUBEBUILDER_ASSETS": str(assets), "GOFLAGS": "-mod=mod"}
    built = subprocess.run(
        [go, "test", "-vet=off", "-c", "-o", "suite.test", "."],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
    )
    if built.returncode and "proxy" in built.stderr:
        pytest.skip(f"the Go modules cannot be had: {built.stderr[-200:]}")
    assert built.returncode == 0, built.stderr
    done = subprocess.run(
        [str(work / "suite.test"), "-test.v"],
        cwd=work,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


@pytest.mark.parametrize(
    ("program", "present", "absent"),
    [
        ("kube-apiserver", "--client-ca-file", "insecure-port"),
        ("etcd", "--unsafe-no-fsync", "insecure"),
    ],
)
def test_help_says_what_envtest_looks_for(
    tmp_path: Path, program: str, present: str, absent: str
) -> None:
    assets = write_programs(tmp_path / "with a space")
    done = subprocess.run([str(assets / program), "--help"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert present in done.stdout
    assert absent not in done.stdout


async def test_server_needs_its_etcd_and_both_end_on_sigterm(tmp_path: Path) -> None:
    assets = write_programs(tmp_path / "assets")
    port = find_free_port()
    url = f"http://127.0.0.1:{port}"
    alone = subprocess.run(
        [str(assets / "kube-apiserver"), f"--etcd-servers={url}", "--secure-port=0"],
        capture_output=True,
        text=True,
    )
    assert alone.returncode != 0
    assert "--etcd-servers" in alone.stderr
    etcd = subprocess.Popen(
        [
            str(assets / "etcd"),
            f"--listen-client-urls={url}",
            "--listen-peer-urls=http://127.0.0.1:0",
            f"--data-dir={tmp_path / 'data'}",
        ]
    )
    try:
        await eventually(lambda: answers(f"{url}/health"))
        server = subprocess.Popen(
            [
                str(assets / "kube-apiserver"),
                f"--etcd-servers={url}",
                "--secure-port=0",
                "--authorization-mode=RBAC",
                "--feature-gates=A=true,MutatingAdmissionPolicy=true",
                "--unheard-of",
                "value",
            ],
            stderr=subprocess.PIPE,
            text=True,
        )
        assert server.stderr is not None
        lines = []
        for line in server.stderr:
            lines.append(line)
            if line.startswith("ready"):
                break
        assert any("--unheard-of" in line for line in lines)
        assert (tmp_path / "data" / "state.db").is_file()
        server.terminate()
        assert server.wait(240) == 0
        server.stderr.close()
    finally:
        etcd.terminate()
        assert etcd.wait(240) == 0


def answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False
