"""Tokens of GitHub for runners: which credential is used, and what is refused."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

from quarterdeck.apis.core.config import Namespace, Secret
from quarterdeck.apis.hypervisor.bootstrap import GithubBootstrap
from quarterdeck.app.cluster import Cluster
from quarterdeck.client import Client
from quarterdeck.kit import http
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.bootstrap.drivers.github import FOR_NAMESPACES, GithubRegistrar
from quarterdeck.services.bootstrap.workload import Workload, WorkloadError

PAGE = "https://github.com/acme/web"


class Github:
    """Gives out a token for each question, or refuses."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.status, self.body = 201, b'{"token": "runner", "expires_at": "soon"}'

    async def handle(self, request: http.Request) -> http.Response:
        credential = (request.headers.get("authorization") or "").removeprefix("Bearer ")
        self.asked.append((request.path, credential))
        if request.path.endswith("/access_tokens"):
            return http.Response(201, [], b'{"token": "of-the-app"}')
        return http.Response(self.status, [], self.body)


class World:
    """A cluster with Secrets, and a GitHub."""

    def __init__(self, client: Client, github: Github, registrar: GithubRegistrar) -> None:
        self.client, self.github, self._registrar = client, github, registrar

    async def add_secret(self, name: str, namespace: str = "default", **data: str) -> None:
        shared = {FOR_NAMESPACES: data.pop("shared")} if "shared" in data else {}
        metadata = ObjectMeta(name=name, namespace=namespace, annotations=shared)
        await self.client.create(Secret(metadata=metadata, string_data=data))

    async def register(self, **github: Any) -> tuple[str, str]:
        urls = {"repository": "http://github.svc/api/repos/{owner}/{repo}/token"}
        document = {"url": PAGE, "registrationUrls": urls, **github}
        workload = Workload(
            method="runner-token",
            github=msgspec.convert(document, GithubBootstrap),
            namespace="default",
        )
        found = await self._registrar.register(workload)
        return found.token, found.expires_at

    async def refuse(self, **github: Any) -> str:
        with pytest.raises(WorkloadError) as caught:
            await self.register(**github)
        return str(caught.value)


@asynccontextmanager
async def open_world() -> AsyncIterator[World]:
    github, network = Github(), http.MemoryNetwork()
    async with Cluster() as cluster, http.Server(github.handle) as server:
        network.serve(server, "github.svc")
        async with network.client() as connections:
            registrar = GithubRegistrar(cluster.client, connections, clock=SystemClock())
            yield World(cluster.client, github, registrar)


def _select(name: str, key: str = "key", **more: str) -> dict[str, str]:
    return {"name": name, "key": key, **more}


async def test_a_personal_token_is_exchanged_for_that_of_a_runner() -> None:
    async with open_world() as world:
        await world.add_secret("pat", key=" mine\n")
        assert await world.register(pat=_select("pat")) == ("runner", "soon")
        assert world.github.asked == [("/api/repos/acme/web/token", "mine")]


async def test_an_app_signs_for_its_installation_first() -> None:
    private = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    pem = private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    async with open_world() as world:
        await world.add_secret("app", id="12", key=pem, installation="34", bad="no key")
        app = {
            "appId": _select("app", "id"),
            "privateKey": _select("app"),
            "installationId": _select("app", "installation"),
        }
        assert await world.register(app=app) == ("runner", "soon")
        (path, signed), (_, credential) = world.github.asked
        assert path == "/api/app/installations/34/access_tokens"
        assert signed.count(".") == 2
        assert credential == "of-the-app"
        problem = await world.refuse(app={**app, "privateKey": _select("app", "bad")})
        assert "private key" in problem
        assert "no key" not in problem, "what a Secret holds is not told"


async def test_secrets_that_cannot_be_used_are_named() -> None:
    async with open_world() as world:
        await world.client.create(Namespace(metadata=ObjectMeta(name="shared")))
        assert "app or pat" in await world.refuse()
        assert "Secret default/none" in await world.refuse(pat=_select("none"))
        await world.add_secret("pat", key="", namespace="default")
        assert "no key key" in await world.refuse(pat=_select("pat"))
        await world.add_secret("own", namespace="shared", key="theirs")
        problem = await world.refuse(pat=_select("own", namespace="shared"))
        assert "Secret shared/own" in problem
        assert FOR_NAMESPACES in problem
        for number, shared in enumerate(("default", "*", "other, default")):
            await world.add_secret(f"s{number}", namespace="shared", key="theirs", shared=shared)
            found = await world.register(pat=_select(f"s{number}", namespace="shared"))
            assert found == ("runner", "soon")
        assert {credential for _, credential in world.github.asked} == {"theirs"}


async def test_answers_of_github_that_are_no_token_are_told() -> None:
    async with open_world() as world:
        await world.add_secret("pat", key="mine")
        world.github.status = 404
        assert "404" in await world.refuse(pat=_select("pat"))
        world.github.status, world.github.body = 201, b"<html>"
        problem = await world.refuse(pat=_select("pat"))
        assert "http://github.svc" in problem
        assert "mine" not in problem
        urls = {"repository": "http://nobody.svc/{owner}/{repo}"}
        problem = await world.refuse(pat=_select("pat"), registrationUrls=urls)
        assert problem.startswith("http://nobody.svc/acme/web ")


@pytest.mark.parametrize(
    ("token", "path"),
    [
        pytest.param("two\nlines", "token", id="credential of two lines"),
        pytest.param("mine\u2026", "token", id="credential with another script"),
        pytest.param("mine", "to ken", id="address with a space"),
    ],
)
async def test_values_that_no_request_can_carry_are_told(token: str, path: str) -> None:
    async with open_world() as world:
        await world.add_secret("pat", key=token)
        urls = {"repository": f"http://github.svc/{{owner}}/{path}"}
        problem = await world.refuse(pat=_select("pat"), registrationUrls=urls)
        assert problem.startswith("no request can be made to http://github.svc/acme/")
        assert token not in problem
        assert world.github.asked == []


@pytest.mark.parametrize(
    "github",
    [
        pytest.param({"url": "https://lab:s3cret@github.com/acme/web", "registrationUrls": None}),
        pytest.param({"registrationUrls": {"repository": "https://lab:s3cret@github.svc/{repo}"}}),
    ],
    ids=["page", "registration"],
)
async def test_password_in_an_address_is_not_repeated(github: dict[str, Any]) -> None:
    async with open_world() as world:
        await world.add_secret("pat", key="mine")
        problem = await world.refuse(pat=_select("pat"), **github)
        assert problem.startswith("no request can be made to https://lab:***@github")
        assert "it has credentials" in problem
        assert "s3cret" not in problem
        assert "s3cret" not in await world.refuse(url="https://lab:s3cret@github.com")
