"""Images are released on a base that cannot change."""

import os
import re
import subprocess
from pathlib import Path

import pytest
from image_build.images import COMMANDS

ROOT = Path(__file__).parents[2]


def check(base: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(ROOT / "tools/release_check.sh")],
        env={"PATH": os.environ["PATH"], "BASE": base},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    "base",
    ["", "python:3.13-slim", "python@sha256:abc", "@sha256:" + "a" * 64, "a b@sha256:" + "a" * 64],
)
def test_base_without_a_digest_is_refused(base: str) -> None:
    done = check(base)
    assert done.returncode == 1
    assert "expected NAME@sha256:DIGEST" in done.stderr


def test_base_with_a_digest_is_accepted() -> None:
    assert check("registry.example.com/python:3.13@sha256:" + "0a" * 32).returncode == 0


def test_every_stage_is_built_on_the_argument() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8").splitlines()
    stages = [line for line in lines if line.startswith("FROM ")]
    assert stages
    assert [
        line for line in stages if not re.match(r"FROM (\$\{BASE\}|common) AS [\w-]+$", line)
    ] == []
    assert [line for line in stages if line.endswith(" AS common")] == ["FROM ${BASE} AS common"]


def test_stages_have_the_commands_of_the_assembled_images() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = re.findall(r'^FROM common AS ([\w-]+)\nCMD \["([\w-]+)"\]', text, flags=re.M)
    assert {tag: (command,) for tag, command in stages} == COMMANDS
    assert stages[-1] == ("operator", "run"), (
        "the last stage is what a build without --target makes"
    )


@pytest.mark.parametrize("name", ["Dockerfile", "tools/venv.sh", "tools/docs.sh"])
def test_only_pins_are_installed_and_by_hash(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    installs = re.findall(r"pip (?:install|download) .*", text)
    assert installs
    assert [line for line in installs if "--no-deps" not in line] == []
    pins = [line for line in installs if " -r " in line]
    assert pins
    assert [line for line in pins if "--require-hashes" not in line] == []


def test_parts_of_the_pins_have_the_versions_of_the_whole() -> None:
    def read_pins(name: str) -> set[str]:
        return set(re.findall(r"^[A-Za-z0-9._-]+==[^ ;]+", (ROOT / name).read_text(), flags=re.M))

    run, test, everything = (read_pins(f"constraints{part}.txt") for part in ("-run", "-test", ""))
    assert run and run <= test <= everything
