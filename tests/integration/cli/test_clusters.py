"""`quarterdeck clusters`: a cluster is connected to a hub, listed, and measured."""

import asyncio
import base64
import subprocess
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from quarterdeck.apis.clusterpulse.v1alpha1 import KINDS, ClusterConnection
from quarterdeck.apis.core.config import Secret
from quarterdeck.app import certificates, definitions
from quarterdeck.app.connection_manifests import build_connection
from quarterdeck.app.enrollment import Credentials, Enrollment, build_rules, enroll
from quarterdeck.cli.main import run
from quarterdeck.client import Client, ClusterConfig, load_config
from quarterdeck.hubstate.push.tokens import hash_token
from quarterdeck.kit import http, yaml
from quarterdeck.kit.clock import SystemClock, VirtualClock
from quarterdeck.operators.clusters.collector import TOKEN_HASH
from quarterdeck.operators.clusters.simulators.contents import Profile
from quarterdeck.operators.clusters.simulators.populate import populate
from quarterdeck.server.api import ApiServer
from quarterdeck.server.registry.object_meta import decode_object_meta
from quarterdeck.storage import open_memory
from quarterdeck.testing import programs
from quarterdeck.testing.background import BackgroundCluster


@pytest.fixture
def spoke() -> Iterator[BackgroundCluster]:
    with BackgroundCluster() as running:
        yield running


def _prepare(hub: Path, spoke: Path) -> None:
    async def work() -> None:
        async with Client(load_config(hub)) as client:
            await definitions.install(client.raw, KINDS)
        async with Client(load_config(spoke)) as client:
            await populate(client, Profile(nodes=2, pods=4), clock=SystemClock())

    asyncio.run(work())


def _read(hub: Path) -> tuple[ClusterConnection, Secret]:
    async def work() -> tuple[ClusterConnection, Secret]:
        async with Client(load_config(hub)) as client:
            connection = await client.get(ClusterConnection, "spoke", "default")
            return connection, await client.get(Secret, "spoke-credentials", "default")

    return asyncio.run(work())


def test_a_cluster_is_added_listed_and_measured(
    kubeconfig: Path, spoke: BackgroundCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, spoke.kubeconfig)
    hub = ["--hub-kubeconfig", str(kubeconfig)]
    added = ["clusters", "add", "--kubeconfig", str(spoke.kubeconfig), "--name", "spoke"]
    assert run([*added, *hub, "--labels", "env=test", "--display-name", "Spoke"]) == 0
    assert "cluster spoke" in capsys.readouterr().out
    connection, secret = _read(kubeconfig)
    assert connection.spec.labels == {"env": "test"}
    [owner] = secret.metadata.owner_references  # the token goes with the connection
    assert owner.uid == connection.metadata.uid
    token = (secret.read("token") or b"").decode()
    assert token.count(".") == 2
    assert run([*added, *hub]) == 0  # again is fine
    capsys.readouterr()
    assert run(["clusters", "list", "--kubeconfig", str(kubeconfig)]) == 0
    listed = capsys.readouterr().out
    assert "spoke" in listed and "TOTAL" in listed
    assert run(["clusters", "top", "--kubeconfig", str(kubeconfig)]) == 0
    output = capsys.readouterr().out
    assert "CPU REQUESTED" in output
    assert "spoke" in output and "2.0" in output
    assert token not in output


def test_hub_without_clusters_says_how_to_connect_one(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _install_kinds(kubeconfig)
    server = ["--kubeconfig", str(kubeconfig)]
    for command in ("list", "top"):
        assert run(["clusters", command, *server]) == 0
        assert capsys.readouterr().out == (
            "no clusters; connect one: quarterdeck clusters add --context NAME\n"
        )
        assert run(["clusters", command, "--json", *server]) == 0
        assert capsys.readouterr().out == "[]\n"


def _install_kinds(hub: Path) -> None:
    async def work() -> None:
        async with Client(load_config(hub)) as client:
            await definitions.install(client.raw, KINDS)

    asyncio.run(work())


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--name", "--=-"], "invalid cluster name '--=-': choose another with --name"),
        (["--name", "a", "--labels", "env"], "invalid --labels 'env': expected NAME=VALUE"),
        (["--name", "a", "--labels", "a=1,=2"], "invalid --labels '=2': expected NAME=VALUE"),
        (["--name", "a", "--push", "https://hub"], "--push 'https://hub' is not an address"),
    ],
)
def test_cluster_with_a_bad_name_or_label_is_refused(
    flags: list[str], words: str, kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = [f"--name={flags[1]}", *flags[2:]]
    path = str(kubeconfig)
    assert run(["clusters", "add", "--kubeconfig", path, "--hub-kubeconfig", path, *flags]) == 2
    assert words in capsys.readouterr().err


def test_the_numbers_are_those_that_kubectl_shows(
    kubeconfig: Path, spoke: BackgroundCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    kubectl = programs.require("kubectl")
    _prepare(kubeconfig, spoke.kubeconfig)
    added = ["clusters", "add", "--kubeconfig", str(spoke.kubeconfig), "--name", "spoke"]
    assert run([*added, "--hub-kubeconfig", str(kubeconfig)]) == 0
    capsys.readouterr()

    def count(*what: str) -> str:
        command = [kubectl, "--kubeconfig", str(spoke.kubeconfig), "get", *what, "-o", "name"]
        listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=240)
        return str(len(listed.stdout.splitlines()))

    def read_row() -> list[str]:
        assert run(["clusters", "top", "--kubeconfig", str(kubeconfig)]) == 0
        _, row, *_ = capsys.readouterr().out.splitlines()
        return row.split()[:3]

    assert read_row() == ["spoke", count("nodes"), count("pods", "--all-namespaces")]


def _connect_nowhere(name: str, secret: dict[str, str], kubeconfig: Path) -> None:
    """Add a cluster at an address where nothing listens."""
    manifests = build_connection(name, "https://127.0.0.1:1", secret)

    async def apply() -> None:
        async with Client(load_config(kubeconfig)) as client:
            await definitions.apply(client.raw, manifests)

    asyncio.run(apply())


def test_a_cluster_that_is_gone_is_named_in_plain_words(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, kubeconfig)
    _connect_nowhere("lost", {"token": "none"}, kubeconfig)
    assert run(["clusters", "top", "--kubeconfig", str(kubeconfig)]) == 0
    output = capsys.readouterr().out
    assert "lost: " in output and "127.0.0.1:1: connection refused" in output
    assert "Connect call" not in output


def test_a_cluster_without_a_usable_authority_names_the_key_of_its_secret(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, kubeconfig)
    _connect_nowhere("odd", {"token": "none", "ca.crt": "garbage"}, kubeconfig)
    assert run(["clusters", "top", "--kubeconfig", str(kubeconfig)]) == 0
    assert "odd: the key 'ca.crt' of Secret default/odd-credentials: " in capsys.readouterr().out


def test_a_cluster_can_be_added_in_push_mode(
    kubeconfig: Path, spoke: BackgroundCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, spoke.kubeconfig)
    added = ["clusters", "add", "--kubeconfig", str(spoke.kubeconfig), "--name", "spoke"]
    hub = ["--hub-kubeconfig", str(kubeconfig)]
    assert run([*added, *hub, "--push", "hub.example:9443"]) == 0
    assert "expires" not in capsys.readouterr().out
    connection, _ = _read(kubeconfig)
    assert connection.spec.collection_mode == "push"
    assert connection.spec.ingester_address == "hub.example:9443"


def test_a_cluster_that_fills_no_secrets_gives_a_token_whose_end_is_told() -> None:
    async def work() -> Credentials:
        clock = VirtualClock()
        api = ApiServer(open_memory(derive=decode_object_meta), clock=clock)
        await api.start()  # without its controllers, so nobody fills the Secret
        network = http.MemoryNetwork(clock=clock)
        server = http.Server(api.handle, clock=clock)
        config = ClusterConfig(server=network.serve(server, "localhost"))
        async with Client(config, clock=clock, network=network) as client:
            enrolling = asyncio.ensure_future(
                enroll(client, client, Enrollment(name="spoke"), clock=clock)
            )
            while not enrolling.done():
                await asyncio.sleep(0)
                if clock.next_deadline is not None:
                    await clock.advance(max(0.0, clock.next_deadline - clock.monotonic()))
            found = enrolling.result()
        await server.drain(0.0)
        return found

    credentials = asyncio.run(work())
    assert credentials.expires_at
    assert credentials.token not in repr(credentials)


def test_join_prints_what_runs_a_collector(
    kubeconfig: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, kubeconfig)
    manifests = build_connection("spoke", "https://127.0.0.1:1", {"token": "none"})

    async def connect() -> None:
        async with Client(load_config(kubeconfig)) as client:
            await definitions.apply(client.raw, manifests)

    asyncio.run(connect())
    authority = certificates.ensure(tmp_path, datetime.now(UTC)).certificate("authority")
    joining = ["clusters", "join", "spoke", "--ingester-address", "hub:9443"]
    hub = ["--kubeconfig", str(kubeconfig)]
    assert run([*joining, *hub]) == 2
    assert "COLLECTOR_IMAGE" in capsys.readouterr().err
    given = ["--image", "collector:1", "--ca-file", str(authority), "--tls-secret", "identity"]
    assert run([*joining, *given, *hub, "-o", "name"]) == 2
    assert "yaml" in capsys.readouterr().err
    connection, _ = _read(kubeconfig)
    assert connection.spec.collection_mode != "push"
    assert run([*joining, *given, *hub]) == 0
    documents = {each["kind"]: each for each in yaml.load_all(capsys.readouterr().out)}
    assert {"Namespace", "ServiceAccount", "ClusterRole", "Secret", "Deployment"} <= set(documents)
    volumes = documents["Deployment"]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "collector-tls", "secret": {"secretName": "identity"}} in volumes
    token = base64.b64decode(documents["Secret"]["data"]["token"]).decode()
    connection, _ = _read(kubeconfig)
    assert connection.spec.collection_mode == "push"
    assert connection.spec.ingester_address == "hub:9443"
    assert connection.metadata.annotations[TOKEN_HASH] == hash_token("spoke", token)
    assert run(["clusters", "join", "nobody", *given, *hub]) != 0
    assert "nobody" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "text"),
    [
        (None, "cannot read {} (--ca-file): No such file or directory\n"),
        (b"no certificate", "{} (--ca-file) has no certificates in PEM\n"),
        (b"\xa3\xff", "{} (--ca-file) has no certificates in PEM\n"),
    ],
)
def test_join_refuses_a_file_without_certificates_before_it_replaces_the_token(
    content: bytes | None, text: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    authority = tmp_path / "ca.crt"
    if content is not None:
        authority.write_bytes(content)
    joining = ["clusters", "join", "spoke", "--ingester-address", "hub:9443", "--image", "c:1"]
    unused = ["--kubeconfig", str(tmp_path / "unused")]
    assert run([*joining, "--ca-file", str(authority), *unused]) == 2
    assert capsys.readouterr().err.endswith(text.format(authority))


def test_nothing_to_list_says_what_to_do(
    kubeconfig: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _prepare(kubeconfig, kubeconfig)
    assert run(["clusters", "list", "--kubeconfig", str(kubeconfig)]) == 0
    assert "clusters add --context" in capsys.readouterr().out
    assert run(["clusters", "add"]) == 2
    assert "--context" in capsys.readouterr().err


def test_the_role_of_the_hub_reads_no_secrets() -> None:
    rules = build_rules(())
    assert all("secrets" not in rule["resources"] for rule in rules)
    assert all(set(rule["verbs"]) == {"get", "list", "watch"} for rule in rules)
    assert all("*" not in (*rule["resources"], *rule["apiGroups"]) for rule in rules)
