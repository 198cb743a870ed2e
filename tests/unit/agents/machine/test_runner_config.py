"""What a machine reads of its runner: which members are refused, and with which words."""

from pathlib import Path
from typing import Any

import pytest

from quarterdeck.agents.machine.runner import RunnerConfig, parse_runner_config

DOCUMENT: dict[str, Any] = {
    "method": "runner-token",
    "platform": "github-actions",
    "runner_token": "secret",
    "registration_url": "https://github.com/acme",
    "runner_name": "one",
}


@pytest.mark.parametrize("document", [{}, {"method": ""}, {"method": "none", "platform": "x"}])
def test_machine_without_a_method_runs_nothing(document: dict[str, Any]) -> None:
    assert parse_runner_config(document) is None


def test_members_that_are_absent_have_defaults() -> None:
    assert parse_runner_config(DOCUMENT) == RunnerConfig(
        token="secret", registration_url="https://github.com/acme", name="one"
    )


def test_every_member_is_read_and_the_token_is_not_shown() -> None:
    runner = {
        "download_url": "https://example.org/runner.tar.gz",
        "install_path": "/srv/runner",
        "work_dir": "/srv/work",
        "config_script": "configure.sh",
        "run_script": "start.sh",
    }
    found = parse_runner_config(
        {**DOCUMENT, "runner": runner, "labels": ["big", 7], "runner_group": "shop"}
    )
    assert found == RunnerConfig(
        token="secret",
        registration_url="https://github.com/acme",
        name="one",
        labels=("big", "7"),
        group="shop",
        download_url="https://example.org/runner.tar.gz",
        install_path=Path("/srv/runner"),
        work_dir=Path("/srv/work"),
        config_script="configure.sh",
        run_script="start.sh",
    )
    assert "secret" not in repr(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"platform": "gitlab"}, "platform 'gitlab' is not supported; use github-actions"),
        ({"runner_token": ""}, "runner_token is missing"),
        ({"registration_url": None}, "registration_url is missing"),
        ({"runner_name": 7}, "runner_name is missing"),
        (
            {"runner": {"config_script": "../x"}},
            "runner.config_script '../x' is not the name of a file",
        ),
        (
            {"runner": {"run_script": ".x"}},
            "runner.run_script '.x' is not the name of a file",
        ),
        (
            {"runner": {"install_path": "relative"}},
            "runner.install_path 'relative' is not the path of a folder of its own",
        ),
        (
            {"runner": {"work_dir": "/"}},
            "runner.work_dir '/' is not the path of a folder of its own",
        ),
        (
            {"runner": {"work_dir": "/a/../etc"}},
            "runner.work_dir '/a/../etc' is not the path of a folder of its own",
        ),
        (
            {"runner": {"download_url": "ftp://x"}},
            "runner.download_url 'ftp://x' does not start with https://",
        ),
    ],
)
def test_member_that_cannot_be_used_is_named(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError) as raised:
        parse_runner_config({**DOCUMENT, **change})
    assert str(raised.value) == message
