"""What the command line says about mistyped commands, and what make targets do."""

import subprocess
from pathlib import Path

import pytest

from quarterdeck.cli.main import run

ROOT = Path(__file__).parents[3]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(["gte"], "unknown command 'gte'; did you mean \"get\"?", id="command"),
        pytest.param(
            ["pipelines", "lnt"],
            "quarterdeck pipelines: unknown command 'lnt'; did you mean \"lint\"?",
            id="group",
        ),
        pytest.param(["zzzzzz"], "see quarterdeck --help", id="nothing similar"),
        pytest.param(
            ["get", "pods", "--namespce", "x"],
            'unrecognized arguments: --namespce x; did you mean "--namespace"?',
            id="flag",
        ),
        pytest.param(["up", "--data_dir=x"], 'did you mean "--data-dir"?', id="flag with a value"),
        pytest.param(["get", "pods", "--zzzzzz"], "see quarterdeck get --help", id="strange flag"),
        pytest.param(
            ["hypervisor", "fail", "clone_vm", "--rate", "2"],
            "see quarterdeck hypervisor fail --help",
            id="flag that only shares its dashes",
        ),
    ],
)
def test_a_mistyped_command_is_answered_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    told = capsys.readouterr().err
    assert words in told
    assert told.count("\n") == 1


def test_a_mistake_in_an_expression_is_shown_by_its_place(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["cel", "1 +"]) == 1
    told = capsys.readouterr().err
    assert told.startswith("quarterdeck cel: line 1, column 4: Syntax error: mismatched input")
    assert "|" not in told and "^" not in told


def test_manifests_without_crds_keep_the_objects_of_users(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["manifests", "--without-crds", "-o", "name"]) == 0
    kinds = {line.partition("/")[0] for line in capsys.readouterr().out.splitlines()}
    assert "Deployment" in kinds
    assert "CustomResourceDefinition" not in kinds


def test_manifests_without_the_namespace_still_have_everything_in_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run(["manifests", "--without-namespace", "-o", "name"]) == 0
    kinds = {line.partition("/")[0] for line in capsys.readouterr().out.splitlines()}
    assert {"Deployment", "CustomResourceDefinition"} <= kinds
    assert "Namespace" not in kinds


@pytest.mark.parametrize(
    ("arguments", "keeps"),
    [
        pytest.param(["undeploy"], True, id="by default"),
        pytest.param(["undeploy", "CRDS=delete"], False, id="told"),
    ],
)
def test_undeploy_keeps_crds_and_namespace_unless_told(arguments: list[str], keeps: bool) -> None:
    done = subprocess.run(
        ["make", "-n", *arguments], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert ("--without-crds --without-namespace" in done.stdout) is keeps


def test_run_cluster_runs_the_operators() -> None:
    done = subprocess.run(
        ["make", "-n", "run-cluster"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert "quarterdeck run" in done.stdout
