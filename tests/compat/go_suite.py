"""Fetches a published Go module by the Go client, and runs its tests on our programs."""

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import pytest
from server_process import serve
from tests.compat.suites import GoSuite

_FAILED = re.compile(r"^\s*\[(?:FAIL|PANICKED|TIMEDOUT)\] (.+)$", re.MULTILINE)
_FAILED_SUBTEST = re.compile(r"^\s*--- FAIL: (\S+/\S+)", re.MULTILINE)
_FAILED_PACKAGE = re.compile(r"^FAIL\t(\S+)", re.MULTILINE)
_PASSED_PACKAGE = re.compile(r"^ok\s+(\S+)", re.MULTILINE)


class Result(NamedTuple):
    """What a suite did."""

    packages: frozenset[str]
    """Those whose tests all passed."""
    failed: frozenset[str]
    """Names of specs and subtests, and of packages where nothing else is named."""
    output: str


def find_program(name: str) -> str:
    """A tool on the PATH; its absence skips unless it is required."""
    program = shutil.which(name)
    if program is not None:
        return program
    if name in os.environ.get("QUARTERDECK_REQUIRE_TOOLS", "").replace(",", " ").split():
        pytest.fail(f"{name} is required and not installed")
    pytest.skip(f"{name} is not installed")


def fetch_module(go: str, module: str, folder: Path) -> Path:
    """Where a module lies, read-only; skips, by name, if it cannot be fetched."""
    command = [go, "mod", "download", "-json", module]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{module} cannot be fetched: {done.stdout[-200:]}{done.stderr[-200:]}")
    return Path(json.loads(done.stdout)["Dir"])


def fetch(go: str, suite: GoSuite, folder: Path) -> Path:
    """Copy the module to a folder where it can be built; skips, by name, if it cannot be had."""
    source = fetch_module(go, f"{suite.module}@{suite.version}", folder)
    work = folder / "suite"
    shutil.copytree(source, work, copy_function=shutil.copyfile)
    for path in (work, *work.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    return work


def run(go: str, suite: GoSuite, work: Path, folder: Path) -> Result:
    """Run the packages one after the other, with what they need of an API server."""
    if not suite.definitions:
        return _run_tests(go, suite, work, {"KUBEBUILDER_ASSETS": str(write_programs(folder))})
    with serve(folder) as kubeconfig:
        install_definitions(work / suite.definitions, kubeconfig)
        return _run_tests(go, suite, work, {"KUBECONFIG": str(kubeconfig)})


def _run_tests(go: str, suite: GoSuite, work: Path, variables: Mapping[str, str]) -> Result:
    command = [go, "test", "-vet=off", "-count=1", "-p", "1", "-timeout", "40m"]
    command += [f"-tags={suite.tags}"] if suite.tags else []
    # some specs of theirs race on a busy machine: "should refuse to add runnable" of manager
    flags = [] if suite.definitions else ["-ginkgo.no-color", "-ginkgo.flake-attempts=3"]
    done = subprocess.run(
        [*command, *suite.packages, *flags],
        cwd=work,
        env={**os.environ, **variables, "GOFLAGS": "-mod=mod"},
        capture_output=True,
        text=True,
        check=False,
    )
    return parse(done.stdout + done.stderr)


def parse(output: str) -> Result:
    """Read what `go test` and ginkgo print."""
    found = [*_FAILED.findall(output), *_FAILED_SUBTEST.findall(output)]
    failed = frozenset(each.strip() for each in found or _FAILED_PACKAGE.findall(output))
    return Result(frozenset(_PASSED_PACKAGE.findall(output)), failed, output)


def install_definitions(folder: Path, kubeconfig: Path) -> None:
    """Apply the definitions in a folder, as their users do."""
    files = [each for each in sorted(folder.glob("*.yaml")) if each.stem != "kustomization"]
    subprocess.run(
        [
            find_program("kubectl"),
            "apply",
            "--server-side",
            *(f"--filename={each}" for each in files),
        ],
        env={**os.environ, "KUBECONFIG": str(kubeconfig)},
        capture_output=True,
        text=True,
        check=True,
    )


def write_programs(folder: Path) -> Path:
    """Write what envtest starts."""
    done = subprocess.run(
        [sys.executable, "-m", "quarterdeck.cli", "envtest", "--dir", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(done.stdout.splitlines()[-1])
