"""The end of the program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import atexit, gc
from quarterdeck.cli.main import main
kept = [[] for _ in range(10_000)]
atexit.register(lambda: print(gc.isenabled(), len(gc.get_objects()) < 10_000))
main(["--version"])
"""


def test_nothing_is_collected_when_a_command_has_ended() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False True"


def run_buffered(arguments: list[str], output: int) -> "subprocess.CompletedProcess[str]":
    """A command whose standard output is buffered, as it is in pipes and files."""
    return subprocess.run(
        [sys.executable, "-m", "quarterdeck.cli", *arguments],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
    )


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--version"], id="version"),
        pytest.param(["help"], id="commands"),
        pytest.param(["get", "--help"], id="flags"),
        pytest.param(["completion", "zsh"], id="less than a buffer"),
        pytest.param(["completion", "bash"], id="more than a buffer"),
    ],
)
def test_output_to_a_closed_pipe_is_no_failure(arguments: list[str]) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        done = run_buffered(arguments, writer)
    finally:
        os.close(writer)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["--version"], ["completion", "zsh"]])
def test_output_that_does_not_fit_on_the_disk_is_a_failure(arguments: list[str]) -> None:
    with Path("/dev/full").open("wb") as full:
        done = run_buffered(arguments, full.fileno())
    assert done.returncode == 1
    assert done.stderr == "quarterdeck: the disk is full; free space and try again\n"
