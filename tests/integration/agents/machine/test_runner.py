"""A machine of a runner pool: attested, registered, one job, gone; with a fake GitHub over HTTP."""

import asyncio
import contextlib
import io
import json
import os
import sys
import tarfile
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bootstrap_world import BootstrapWorld, Machine, bootstrap_world
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from tests.integration.agents.machine.test_agent import agent
from tests.integration.services.bootstrap.test_machine_calls import join

from quarterdeck.agents.machine.__main__ import run_agent
from quarterdeck.agents.machine.bundle import write_zipapp
from quarterdeck.app import definitions
from quarterdeck.kit import http, jws
from quarterdeck.kit import json as kit_json

TOKEN = "AABBCC-registration-token"
PAT = "ghp_personal-access-token"
CONFIG = """#!/bin/sh
echo "$@" > registered
"""
RUN = """#!/bin/sh
trap 'echo stopped > "$FOLDER/stopped"; exit 0' INT
while [ ! -e "$FOLDER/job" ]; do sleep 0.05; done
echo done > "$FOLDER/ran"
"""


class Github:
    """Answers as GitHub does: installation tokens, registration tokens, and the runner itself."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[tuple[str, str]] = []
        self.status = 201
        self.url = ""

    async def handle(self, request: http.Request) -> http.Response:
        await request.read(1 << 16)
        if request.path == "/runner.tar.gz":
            return http.Response(200, [], self._pack())
        credential = (request.headers.get("authorization") or "").removeprefix("Bearer ")
        self.asked.append((request.path, credential))
        token = "installation-token" if request.path.endswith("access_tokens") else TOKEN
        body = {"token": token, "expires_at": "2030-01-01T00:00:00Z"}
        return http.Response(self.status, [], kit_json.encode(body))

    def _pack(self) -> bytes:
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            scripts = {"config.sh": CONFIG, "run.sh": RUN.replace("$FOLDER", str(self.folder))}
            for name, text in scripts.items():
                member = tarfile.TarInfo(name)
                member.size, member.mode = len(text), 0o755
                archive.addfile(member, io.BytesIO(text.encode()))
        return data.getvalue()

    def describe(self, folder: Path, **credentials: object) -> dict[str, Any]:
        """The part of a template that names us."""
        base = f"{self.url}/repos/{{owner}}/{{repo}}/actions/runners/registration-token"
        return {
            "url": "https://github.com/acme/shop",
            "registrationUrls": {"repository": base},
            "runner": {
                "downloadUrl": f"{self.url}/runner.tar.gz",
                "installPath": str(folder / "runner"),
                "workDir": str(folder / "work"),
                "labels": ["big"],
            },
            **credentials,
        }


@contextlib.asynccontextmanager
async def fake_github(folder: Path) -> AsyncIterator[Github]:
    github = Github(folder)
    server = http.Server(github.handle)
    listener = await server.listen("127.0.0.1", 0)
    github.url = listener.url
    try:
        yield github
    finally:
        await server.close()


async def add_secret(world: BootstrapWorld, values: dict[str, str], **annotations: str) -> None:
    metadata = {"name": "github", "namespace": "default", "annotations": annotations}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": values}
    await definitions.apply(world.client.raw, [secret])


async def test_machine_registers_does_one_job_and_is_switched_off(tmp_path: Path) -> None:
    async with bootstrap_world() as world, fake_github(tmp_path) as github:
        replica = await world.start_replica(heartbeat_s=0.2)
        await add_secret(world, {"pat": PAT})
        world.bootstrap = github.describe(tmp_path, pat={"name": "github", "key": "pat"})
        claim = await world.add_claim("vm")
        world.clock.shift = timedelta()
        token = await world.issue(replica, claim)
        async with agent(tmp_path, replica, claim, method="join-token", token=token) as running:
            await running.wait_for("reported Ready")
            words = (tmp_path / "runner/registered").read_text().split()
            name = f"vm-{claim.metadata.uid[:8]}"
            assert words == [
                *("--url", "https://github.com/acme/shop", "--token", TOKEN, "--name", name),
                *("--labels", "self-hosted,hyperfleet,ephemeral,big"),
                *("--work", str(tmp_path / "work"), "--unattended", "--ephemeral"),
            ]
            (tmp_path / "job").touch()
            await running.wait_for("shutting down")
            assert await running.process.wait() == 0
            assert (tmp_path / "ran").exists()
            assert (tmp_path / "off").exists()
            assert not (tmp_path / "runner").exists()
            assert (await world.read_claim("vm")).status.bootstrap_info == "JobCompleted"
            text = "".join(running.lines)
            assert TOKEN not in text
            assert PAT not in text
        path = "/repos/acme/shop/actions/runners/registration-token"
        assert github.asked == [(path, PAT)]


async def test_idle_runner_is_stopped_when_its_claim_drains(tmp_path: Path) -> None:
    async with bootstrap_world() as world, fake_github(tmp_path) as github:
        replica = await world.start_replica(heartbeat_s=0.2)
        await add_secret(world, {"pat": PAT})
        world.bootstrap = github.describe(tmp_path, pat={"name": "github", "key": "pat"})
        claim = await world.add_claim("vm")
        world.clock.shift = timedelta()
        token = await world.issue(replica, claim)
        async with agent(tmp_path, replica, claim, method="join-token", token=token) as running:
            await running.wait_for("reported Ready")
            await world.set_phase("vm", "Draining")
            await running.wait_for("stopping the idle runner")
            await running.wait_for("shutting down")
            assert await running.process.wait() == 0
            assert (tmp_path / "stopped").exists()
            assert not (tmp_path / "ran").exists()


async def test_app_key_stays_in_the_cluster_and_signs_a_short_token(tmp_path: Path) -> None:
    key = rsa.generate_private_key(65537, 2048)
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    async with bootstrap_world() as world, fake_github(tmp_path) as github:
        replica = await world.start_replica()
        await add_secret(world, {"id": "17", "key": pem, "installation": "42"})
        members = {"appId": "id", "privateKey": "key", "installationId": "installation"}
        app = {name: {"name": "github", "key": value} for name, value in members.items()}
        world.bootstrap = github.describe(tmp_path, app=app)
        machine = await join(world, replica)
        answer = await replica.call("GET", "/v1/config", machine=machine)
        assert answer.body["runner_token"] == TOKEN
        assert answer.body["registration_url"] == "https://github.com/acme/shop"
        (path, signed), (_, used) = github.asked
        assert path == "/app/installations/42/access_tokens"
        assert used == "installation-token"
        claims = jws.parse_token(signed).claims
        assert claims["iss"] == "17"
        assert claims["exp"] - claims["iat"] <= 600
        assert "PRIVATE" not in str(answer.body)


async def configure(world: BootstrapWorld, name: str = "web-1") -> tuple[int, str]:
    """Ask for a configuration; the status, and what the claim says then."""
    replica = await world.start_replica()
    machine: Machine = await join(world, replica, name)
    answer = await replica.call("GET", "/v1/config", machine=machine)
    return answer.status, (await world.read_claim(name)).status.bootstrap_info


async def test_reason_of_a_workload_that_cannot_be_prepared_is_in_the_claim(tmp_path: Path) -> None:
    pat = {"name": "github", "key": "pat"}
    async with bootstrap_world() as world, fake_github(tmp_path) as github:
        world.bootstrap = github.describe(tmp_path, pat=pat)
        status, text = await configure(world)
        assert (status, text) == (503, "Bootstrapping: Secret default/github not found")
        await add_secret(world, {"pat": PAT})
        github.status = 403
        status, text = await configure(world)
        assert status == 503
        assert "answered 403" in text
        assert PAT not in text


async def test_secret_of_another_namespace_is_used_only_where_it_says_so(tmp_path: Path) -> None:
    pat = {"name": "shared", "key": "pat", "namespace": "quarterdeck-system"}
    secret: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "shared", "namespace": "quarterdeck-system"},
        "stringData": {"pat": PAT},
    }
    async with bootstrap_world() as world, fake_github(tmp_path) as github:
        world.bootstrap = github.describe(tmp_path, pat=pat)
        await definitions.apply(world.client.raw, [secret])
        status, text = await configure(world)
        assert status == 503
        assert "is not shared with namespace default" in text
        assert github.asked == []
        secret["metadata"]["annotations"] = {"hyperfleet.io/for-namespaces": "other, default"}
        await definitions.apply(world.client.raw, [secret])
        status, _ = await configure(world)
        assert status == 200


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"runner": {"download_url": "http://127.0.0.1:9/none"}}, 2),
        ({"runner": {"config_script": "false.sh"}}, 3),
        ({"platform": "gitlab"}, 3),
        ({"runner_token": ""}, 3),
        ({"runner": {"install_path": "relative"}}, 3),
        ({"runner": {"run_script": "../run.sh"}}, 3),
    ],
)
def test_file_of_a_runner_that_fails_ends_with_its_own_code(
    tmp_path: Path, change: dict[str, Any], code: int
) -> None:
    runner = {"install_path": str(tmp_path / "runner"), "work_dir": str(tmp_path / "work")}
    (tmp_path / "runner").mkdir()
    document = {
        "method": "runner-token",
        "platform": "github-actions",
        "runner_token": TOKEN,
        "registration_url": "https://github.com/acme",
        "runner_name": "one",
        **change,
        "runner": {**runner, **change.get("runner", {})},
    }
    path = tmp_path / "runner-config.json"
    path.write_text(json.dumps(document))
    path.chmod(0o600)
    write_zipapp(tmp_path / "agent.pyz")
    found = os.spawnv(
        os.P_WAIT,
        sys.executable,
        [sys.executable, "-I", "-S", str(tmp_path / "agent.pyz"), "--config", str(path)],
    )
    assert found == code


async def test_runner_of_a_file_needs_no_service(tmp_path: Path) -> None:
    async with fake_github(tmp_path) as github:
        document = {
            "method": "runner-token",
            "platform": "github-actions",
            "runner_token": TOKEN,
            "registration_url": "https://github.com/acme",
            "runner_name": "one",
            "runner": {
                "download_url": f"{github.url}/runner.tar.gz",
                "install_path": str(tmp_path / "runner"),
                "work_dir": str(tmp_path / "work"),
            },
        }
        path = tmp_path / "runner-config.json"
        path.write_text(json.dumps(document))
        assert run_agent(str(path), "", tcti="", power_off="") == 1, "others may read the file"
        path.chmod(0o600)
        (tmp_path / "job").touch()
        write_zipapp(tmp_path / "agent.pyz")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", str(tmp_path / "agent.pyz"), "--config", str(path)),
            *("--power-off", f"touch {tmp_path / 'off'}"),
        )
        assert await process.wait() == 0
        assert (tmp_path / "off").exists()
