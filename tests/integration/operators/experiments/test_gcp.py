"""Rights on new GKE clusters, against a token endpoint and a real API server."""

import contextlib
from collections.abc import AsyncIterator, Callable
from urllib.parse import parse_qs

import pytest
from tests.integration.operators.experiments.world import World, experiment, hub, target

from quarterdeck.apis.rbac import ClusterRoleBinding
from quarterdeck.client import Client
from quarterdeck.kit import http, json, jwk, jws
from quarterdeck.kit.clock import SystemClock
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.drivers.gcp import GcpAdministrator
from quarterdeck.operators.experiments.drivers.targets import KubeconfigTargets, to_config
from quarterdeck.operators.experiments.ports import TargetRefused, TargetUnreachable
from quarterdeck.operators.experiments.simulators.clusters import build_kubeconfig

SECRET = Key("crossplane-system", "gcp-credentials")


class Google:
    """The token endpoint: checks the assertion's signature and hands out one token."""

    def __init__(self) -> None:
        self.asked = 0
        self.token = ""
        self.url = ""
        self.failure: http.Response | None = None
        self.private, self.public = _make_keys()

    async def handle(self, request: http.Request) -> http.Response:
        self.asked += 1
        if self.failure is not None:
            return self.failure
        form = parse_qs((await request.read(1 << 20)).decode())
        parsed = jws.parse_token(form["assertion"][0])
        try:
            claims = jws.verify(parsed, [jwk.parse_public_key(self.public)])
        except jws.InvalidToken:
            return _answer(401, {"error": "invalid_grant"})
        if claims["iss"] != "lab@example.com" or claims["aud"] != self.url:
            return _answer(400, {"error": "invalid_grant"})
        return _answer(200, {"access_token": self.token, "expires_in": 3600})


def _answer(status: int, body: dict[str, object]) -> http.Response:
    return http.Response(status, [("content-type", "application/json")], json.encode(body))


def _make_keys() -> tuple[bytes, bytes]:
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import rsa

    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return (
        key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ),
        key.public_key().public_bytes(
            serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
        ),
    )


@contextlib.asynccontextmanager
async def google() -> AsyncIterator[tuple[Google, http.Client]]:
    fake = Google()
    server = http.Server(fake.handle, clock=SystemClock())
    listener = await server.listen("127.0.0.1", 0)
    fake.url = f"{listener.url}/token"
    try:
        async with http.Client() as web:
            yield fake, web
    finally:
        await server.drain(1.0)


def administrator(world: World, web: http.Client) -> GcpAdministrator:
    targets = KubeconfigTargets(world.client, clock=SystemClock())
    return GcpAdministrator(world.client, targets, secret=SECRET, web=web, clock=SystemClock())


async def write_key(world: World, fake: Google, private_key: bytes) -> None:
    key = {
        "type": "service_account",
        "client_email": "lab@example.com",
        "private_key": private_key.decode(),
        "token_uri": fake.url,
    }
    await world.apply(
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": SECRET.name, "namespace": SECRET.namespace},
            "stringData": {"credentials": json.encode(key).decode()},
        }
    )


async def make_token(text: bytes) -> str:
    """A token of the target that may do everything, as Google's would."""
    async with Client(to_config(kubeconfig.parse(text))) as client:
        account = {"name": "google", "namespace": "kube-system"}
        targets = KubeconfigTargets(client, clock=SystemClock())
        await targets.apply(
            text,
            [
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
                {
                    "apiVersion": "rbac.authorization.k8s.io/v1",
                    "kind": "ClusterRoleBinding",
                    "metadata": {"name": "google"},
                    "roleRef": {
                        "apiGroup": "rbac.authorization.k8s.io",
                        "kind": "ClusterRole",
                        "name": "cluster-admin",
                    },
                    "subjects": [{"kind": "ServiceAccount", **account}],
                },
            ],
        )
        from quarterdeck.wire.path import ResourcePath

        path = ResourcePath("", "v1", "serviceaccounts", "kube-system", "google", "token")
        body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
        answer = json.decode(await client.raw.create(path, json.encode(body)))
        return str(answer["status"]["token"])


async def subjects(text: bytes) -> list[str]:
    async with Client(to_config(kubeconfig.parse(text))) as client:
        found = await client.get(ClusterRoleBinding, "experiment-client-admin")
        return [each.name for each in found.subjects]


async def test_the_certificate_of_a_new_cluster_gets_its_rights() -> None:
    async with hub() as world, google() as (fake, web):
        text = build_kubeconfig(await world.clusters.create("new")).encode()
        fake.token = await make_token(text)
        granting = administrator(world, web)
        assert await granting.grant(text) is False
        await write_key(world, fake, fake.private)
        assert await granting.grant(text) is True
        assert await granting.grant(text) is True
        assert await subjects(text) == ["client"]
        assert fake.asked == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda fake: _make_keys()[0], "answered 401"),
        (lambda fake: b"no key", "not usable"),
    ],
)
async def test_a_key_that_is_refused_says_so(change: Callable[[Google], bytes], words: str) -> None:
    async with hub() as world, google() as (fake, web):
        text = build_kubeconfig(await world.clusters.create("new")).encode()
        await write_key(world, fake, change(fake))
        with pytest.raises(TargetRefused, match=words) as caught:
            await administrator(world, web).grant(text)
        assert "BEGIN" not in str(caught.value)


@pytest.mark.parametrize(
    ("status", "body", "words"),
    [
        pytest.param(503, b"", "answered 503", id="failure of the server"),
        pytest.param(429, b"", "answered 429", id="too many requests"),
        pytest.param(200, b"<html>", "has no token", id="page of a proxy"),
        pytest.param(200, b'{"expires_in": 3600}', "has no token", id="answer without a token"),
    ],
)
async def test_failure_of_google_does_not_count_as_a_refusal(
    status: int, body: bytes, words: str
) -> None:
    async with hub() as world, google() as (fake, web):
        text = build_kubeconfig(await world.clusters.create("new")).encode()
        await write_key(world, fake, fake.private)
        fake.token, fake.failure = await make_token(text), http.Response(status, [], body)
        granting = administrator(world, web)
        with pytest.raises(TargetUnreachable, match=words):
            await granting.grant(text)
        fake.failure = None
        assert await granting.grant(text) is True


async def test_a_key_whose_address_no_request_can_be_made_to_is_refused() -> None:
    async with hub() as world, google() as (fake, web):
        text = build_kubeconfig(await world.clusters.create("new")).encode()
        fake.url = "https://lab:s3cret@127.0.0.1:1/token"
        await write_key(world, fake, fake.private)
        with pytest.raises(TargetRefused, match="no request can be made") as caught:
            await administrator(world, web).grant(text)
        assert "s3cret" not in str(caught.value)


async def test_an_experiment_asks_for_rights_before_it_registers() -> None:
    class Granted:
        def __init__(self) -> None:
            self.texts: list[bytes] = []

        async def grant(self, text: bytes) -> bool:
            self.texts.append(text)
            return True

    granted = Granted()
    async with (
        hub() as world,
        world.simulators(),
        world.operator(administrator=granted),
    ):
        await world.template("smoke")
        await world.create(experiment("rights", target("app", "gke"), target("other", "vcluster")))
        assert (await world.cleaned("rights")).status.phase == "Complete"
        assert len(granted.texts) == 1


def test_a_kubeconfig_is_built_as_it_is_read() -> None:
    connection = kubeconfig.Connection(
        "https://1.2.3.4", ca_data="QQ==", cert_data="Qg==", key_data="Qw==", token="t"
    )
    assert kubeconfig.parse(kubeconfig.build(connection)) == connection
