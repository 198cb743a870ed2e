"""`quarterdeck pipelines`: rollouts, rollbacks, and what one collector gets."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.apis.fleetmanagement.names import PROMOTE
from quarterdeck.apis.fleetmanagement.v1alpha1 import KINDS, Pipeline, PipelineRevision
from quarterdeck.app import definitions
from quarterdeck.cli.commands.pipelines.effective import effective
from quarterdeck.cli.commands.pipelines.import_ import import_pipelines
from quarterdeck.cli.commands.pipelines.plan import PlanForm, plan
from quarterdeck.cli.exit_codes import CommandError
from quarterdeck.cli.main import run
from quarterdeck.client import Client, load_config
from quarterdeck.client.interfaces import PatchType
from quarterdeck.kit import http, yaml
from quarterdeck.kit.redaction import Secret
from quarterdeck.meta.identity import Key
from quarterdeck.runtime.reconcile.client import build_path
from quarterdeck.services.fleet.auth import Tokens
from quarterdeck.services.fleet.service import FleetServer
from quarterdeck.storage import open_memory
from quarterdeck.wire.query import PatchOptions

SCRAPE = 'prometheus.scrape "x" {\n  targets = []\n}\n'
PATCH = PatchOptions(field_manager="test", force=True)


def shell(kubeconfig: Path, *arguments: str, code: int = 0) -> None:
    assert run(["pipelines", *arguments, "--kubeconfig", str(kubeconfig)]) == code


def document(kind: type[Any], name: str, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": kind.KIND.api_version,
        "kind": kind.KIND.kind,
        "metadata": {"name": name, "namespace": "default"},
        **more,
    }


async def install(kubeconfig: Path, **status: Any) -> None:
    """A pipeline with a status, and its revisions 1 and 2."""
    revisions = [
        document(
            PipelineRevision,
            f"web-{number}",
            spec={"pipeline": "web", "revisionId": str(number), "contents": SCRAPE},
        )
        for number in (1, 2)
    ]
    async with Client(load_config(kubeconfig)) as client:
        await definitions.install(client.raw, KINDS)
        pipeline = document(Pipeline, "web", spec={"contents": SCRAPE})
        await definitions.apply(client.raw, [pipeline, *revisions])
        path = build_path(Pipeline, Key("default", "web"), "status")
        body = json.dumps(document(Pipeline, "web", status=status)).encode()
        await client.raw.patch(path, body, PatchType.APPLY, PATCH)


def read(kubeconfig: Path) -> Pipeline:
    async def get() -> Pipeline:
        async with Client(load_config(kubeconfig)) as client:
            return await client.get(Pipeline, "web", "default")

    return asyncio.run(get())


def test_a_rollout_is_promoted_whole_or_by_a_step(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rollout = {"phase": "WaitingForApproval", "candidate": "abc", "step": 0, "steps": 2}
    asyncio.run(install(kubeconfig, rollout=rollout))
    shell(kubeconfig, "promote", "web", "--step")
    assert capsys.readouterr().out == "pipeline web: promoted past step 1 of 2\n"
    assert read(kubeconfig).metadata.annotations[PROMOTE] == "abc:0"
    shell(kubeconfig, "promote", "web", "--json")
    assert json.loads(capsys.readouterr().out)["promoted"] == "abc"
    assert read(kubeconfig).metadata.annotations[PROMOTE] == "abc"


def test_only_a_rollout_under_way_is_promoted(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(install(kubeconfig, rollout={"phase": "Promoted", "candidate": "abc"}))
    shell(kubeconfig, "promote", "web", code=2)
    assert "pipeline web has no rollout in progress" in capsys.readouterr().err
    assert PROMOTE not in read(kubeconfig).metadata.annotations


def test_a_pipeline_goes_back_and_is_sent_by_its_spec_again(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    asyncio.run(install(kubeconfig, revisionId="2"))
    shell(kubeconfig, "rollback", "web")
    assert capsys.readouterr().out == "pipeline web rolled back to revision 1\n"
    assert read(kubeconfig).spec.rollback_to == "1"
    shell(kubeconfig, "rollback", "web", "--clear", "--json")
    assert json.loads(capsys.readouterr().out)["rollbackTo"] is None
    assert not read(kubeconfig).spec.rollback_to


@asynccontextmanager
async def serve_fleet() -> AsyncIterator[str]:
    """A fleet server with one collector and two pipelines, of which one is for it."""
    store = open_memory()
    server = FleetServer(store, Tokens.single(Secret("t")))
    async with http.Server(server.handle) as web, http.Client() as client:
        url = (await web.listen("127.0.0.1", 0)).url

        async def call(service: str, name: str, **message: Any) -> None:
            headers = [("Authorization", "Bearer t"), ("Content-Type", "application/json")]
            path = f"{url}/{service}/{name}"
            body = json.dumps(message).encode()
            async with await client.request("POST", path, headers=headers, body=body) as answer:
                assert answer.status == 200, await answer.read()

        collector = {"id": "edge", "remoteAttributes": {"env": "prod"}}
        await call("collector.v1.CollectorService", "CreateCollector", collector=collector)
        for name, matcher in (("mine", "env=prod"), ("other", "env=test")):
            pipeline = {"name": name, "contents": SCRAPE, "matchers": [matcher], "enabled": True}
            await call("pipeline.v1.PipelineService", "CreatePipeline", pipeline=pipeline)
        yield url
    await store.close()


@pytest.fixture
def password(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file with the token of the fleet server; the environment has no other."""
    for name in ("BASE_URL", "USERNAME", "PASSWORD"):
        monkeypatch.delenv(f"FLEET_MANAGEMENT_{name}", raising=False)
    path = tmp_path / "password"
    path.write_text("t\n")
    return path


async def test_a_plan_names_the_collectors_that_would_notice(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = tmp_path / "other.yaml"
    spec = {"name": "other", "contents": SCRAPE, "matchers": ["env=prod"]}
    manifest.write_text(yaml.dump(document(Pipeline, "other", spec=spec)))
    async with serve_fleet() as url:
        login: dict[str, Any] = {"url": url, "username": "u", "password_file": str(password)}
        await plan([str(manifest)], **login)
        shown = capsys.readouterr().out
        assert shown.startswith("other: 1 gain, 0 lose, 0 change\n")
        assert '+declare "pipe_other"' in shown
        await plan([str(manifest)], **login, output=PlanForm.JSON)
        found = json.loads(capsys.readouterr().out)
        assert [each["name"] for each in found["pipelines"]] == ["other"]
        assert "pipe_other" in found["diff"]
        with pytest.raises(CommandError, match="'z' is not registered"):
            await plan([str(manifest)], **login, collector="z")
        with pytest.raises(CommandError, match="cannot read"):
            await plan([str(tmp_path / "none.yaml")], **login)
        manifest.write_bytes(b"\xff")
        with pytest.raises(CommandError, match=r"other\.yaml: cannot parse as YAML: 'utf-8' codec"):
            await plan([str(manifest)], **login)


async def test_a_plan_reads_the_manifests_of_a_folder_as_apply_does(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "pipelines"
    folder.mkdir()
    for name in ("one", "two"):
        spec = {"name": name, "contents": SCRAPE, "matchers": ["env=prod"]}
        text = yaml.dump(document(Pipeline, name, spec=spec))
        (folder / f"{name}.yaml").write_text(text)
        (folder / "kustomization.yaml").write_text(text.replace(name, "three"))
        (folder / "notes.txt").write_text(text.replace(name, "four"))
    async with serve_fleet() as url:
        login: dict[str, Any] = {"url": url, "username": "u", "password_file": str(password)}
        await plan([str(folder)], **login, output=PlanForm.JSON)
        found = json.loads(capsys.readouterr().out)
        assert [each["name"] for each in found["pipelines"]] == ["one", "two"]
        (folder / "two.yaml").write_text("a: [")
        with pytest.raises(CommandError, match=r"pipelines/two\.yaml: cannot parse as YAML"):
            await plan([str(folder)], **login)


async def test_pipelines_of_a_fleet_server_become_manifests(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serve_fleet() as url:
        login: dict[str, Any] = {"url": url, "username": "u", "password_file": str(password)}
        await import_pipelines(**login, output_dir=str(tmp_path / "out"))
        assert len(capsys.readouterr().out.splitlines()) == 2
        found = [yaml.load(path.read_text()) for path in sorted((tmp_path / "out").iterdir())]
        assert [each["spec"]["matchers"] for each in found] == [["env=prod"], ["env=test"]]
        with pytest.raises(CommandError, match="--output-dir"):
            await import_pipelines(**login, output_dir=str(password / "below"))
    with pytest.raises(CommandError, match="FLEET_MANAGEMENT_BASE_URL"):
        await import_pipelines()


async def test_the_configuration_of_a_collector_is_merged_from_its_pipelines(
    tmp_path: Path, password: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with serve_fleet() as url:
        await effective("edge", url=url, username="u", password_file=str(password))
        shown = capsys.readouterr().out
        assert 'declare "pipe_mine"' in shown and "other" not in shown
        await effective("edge", url=url, username="u", password_file=str(password), json=True)
        assert json.loads(capsys.readouterr().out) == {
            "collector": "edge",
            "config": shown,
        }
        with pytest.raises(CommandError, match="'z' is not registered"):
            await effective("z", url=url, username="u", password_file=str(password))
        with pytest.raises(CommandError, match="--password-file"):
            await effective("edge", url=url, username="u", password_file=str(tmp_path / "none"))
    with pytest.raises(CommandError, match="FLEET_MANAGEMENT_BASE_URL"):
        await effective("edge")
