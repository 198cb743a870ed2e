"""The small parts of a process: bind addresses, parts, console, activity, doctor, manifests."""

import io
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from quarterdeck.app import all_in_one, component_manifests, installation, manifests, parts, run
from quarterdeck.app.activity import ActivityPrinter
from quarterdeck.app.bind_address import parse_bind
from quarterdeck.app.console import Console, Started, find_program, format_started
from quarterdeck.app.doctor import Health, check, explain
from quarterdeck.app.errors import SettingError
from quarterdeck.app.host import Endpoint
from quarterdeck.app.live_settings import apply_settings
from quarterdeck.app.option import Port
from quarterdeck.app.resolution import resolve
from quarterdeck.app.settings import Settings
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.runtime.endpoints.server import BindAddress
from quarterdeck.runtime.observability import logging
from quarterdeck.runtime.observability.logging import get_logger
from quarterdeck.storage import Entry, StoreEvent, StoreKey

APPS = "applications.cloudnative.elide.dev"


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        pytest.param("", BindAddress("127.0.0.1", 8081), id="the port on loopback"),
        pytest.param(":9000", BindAddress("0.0.0.0", 9000), id="everywhere"),
        pytest.param("10.0.0.1:9000", BindAddress("10.0.0.1", 9000), id="one address"),
        pytest.param("[::1]:9000", BindAddress("::1", 9000), id="version 6"),
        pytest.param("0", None, id="off"),
    ],
)
def test_bind_addresses_mean_what_they_mean_elsewhere(
    address: str, expected: BindAddress | None
) -> None:
    assert parse_bind(address, 8081, flag="--health-port") == expected


def test_inside_a_cluster_the_port_is_reachable() -> None:
    assert parse_bind("", 8081, flag="--health-port", all_interfaces=True) == BindAddress(
        "0.0.0.0", 8081
    )


@pytest.mark.parametrize("address", ["9000", "a:b", "x:70000", ":", "x:²", ":" + "9" * 5000])
def test_bad_bind_addresses_are_refused(address: str) -> None:
    with pytest.raises(SettingError, match="HOST:PORT"):
        parse_bind(address, 8081, flag="--health-port")


@pytest.mark.parametrize(
    ("settings", "flag"),
    [
        (Settings(health_bind_address="nonsense"), "--health-bind-address"),
        (Settings(metrics_bind_address="nonsense"), "--metrics-bind-address"),
    ],
    ids=["health", "metrics"],
)
def test_a_bad_bind_address_names_its_own_flag(settings: Settings, flag: str) -> None:
    with pytest.raises(SettingError, match=f"invalid {flag} 'nonsense'"):
        run._parse_addresses(settings, all_interfaces=False)
    with pytest.raises(SettingError, match=f"invalid {flag} 'nonsense'"):
        all_in_one._Pages.parse(settings)


def test_operators_are_chosen_by_name() -> None:
    assert parts.choose(()) == parts.PARTS
    assert [part.name for part in parts.choose(("applications",))] == ["applications"]
    with pytest.raises(SettingError, match=r"'nope'.*applications"):
        parts.choose(("nope",))


def test_every_operator_has_kinds_controllers_and_samples() -> None:
    for part in parts.PARTS:
        assert part.kinds()
        assert part.declare_controllers()
        kinds = {(kind.KIND.api_version, kind.KIND.kind) for kind in part.kinds()}
        assert any((each["apiVersion"], each["kind"]) in kinds for each in part.samples())


STARTED = Started(
    version="1.2.3",
    took_s=0.5,
    endpoints=[Endpoint("api", "https://127.0.0.1:6443", "Kubernetes API")],
    operators=["applications"],
    kubeconfig=Path("/data/kubeconfig"),
    data="/data",
    commands=["kubectl get applications"],
)


def test_the_summary_says_what_listens_where_and_what_to_try() -> None:
    text = "\n".join(format_started(STARTED))
    assert "https://127.0.0.1:6443  Kubernetes API" in text
    assert "export KUBECONFIG=/data/kubeconfig" in text
    assert "kubectl get applications" in text
    assert "0.50 s" in text


def test_the_console_has_no_colors_without_a_terminal() -> None:
    stream = io.StringIO()
    console = Console(stream)
    console.print_started(STARTED)
    console.print_line("careful", True)
    assert "\x1b" not in stream.getvalue()
    assert stream.getvalue().endswith("careful\n")


@pytest.mark.parametrize(
    ("called_as", "shown"),
    [
        pytest.param("/usr/local/bin/quarterdeck", "quarterdeck", id="found by every shell"),
        pytest.param("/home/me/.local/bin/qd", "qd", id="the user's own"),
        pytest.param("/srv/.venv/bin/quarterdeck", ".venv/bin/quarterdeck", id="in the folder"),
        pytest.param(".venv/bin/quarterdeck", ".venv/bin/quarterdeck", id="relative"),
        pytest.param("/opt/x/bin/quarterdeck", "/opt/x/bin/quarterdeck", id="elsewhere"),
        pytest.param("/x/cli/__main__.py", "quarterdeck", id="as a module"),
    ],
)
def test_commands_to_try_can_be_copied(called_as: str, shown: str) -> None:
    assert find_program(called_as, folder=Path("/srv"), home=Path("/home/me")) == shown


def test_a_terminal_that_is_gone_disturbs_nothing() -> None:
    stream = io.StringIO()
    console = Console(stream)
    stream.close()
    console.print_line("nobody")
    console.print_line("reads this")


def test_a_terminal_with_few_letters_gets_those_it_has() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    Console(stream).print_line("… and 3 more")
    stream.flush()
    assert raw.getvalue() == b"? and 3 more\n"


def _write(name: str, *, resource: str = APPS, value: bytes = b"{}") -> StoreEvent:
    key = StoreKey(resource, "default", name)
    entry = Entry(key=key, revision=1, created_revision=1, value=value)
    return StoreEvent(revision=1, key=key, before=None, after=entry)


def _printer(lines: list[str], clock: VirtualClock) -> ActivityPrinter:
    return ActivityPrinter(
        kinds={APPS: "Application"},
        clock=clock,
        print_line=lambda text, _warning: lines.append(text),
    )


def test_activity_shows_our_kinds_and_warnings_only() -> None:
    lines: list[str] = []
    printer = _printer(lines, VirtualClock(datetime(2026, 1, 1, 12, tzinfo=UTC)))

    def event(kind: str, type_: str) -> bytes:
        about = {"kind": kind, "namespace": "default", "name": "x"}
        return msgspec.json.encode(
            {"involvedObject": about, "type": type_, "reason": "R", "message": "m"}
        )

    printer.on_writes([_write("web"), _write("x", resource="secrets")])
    printer.on_writes([_write("a", resource="events", value=event("Application", "Normal"))])
    printer.on_writes([_write("b", resource="events", value=event("Pod", "Normal"))])
    printer.on_writes([_write("c", resource="events", value=event("Pod", "Warning"))])
    assert lines == [
        "  12:00:00  Application default/web created",
        "  12:00:00  Application default/x R: m",
        "  12:00:00  Pod default/x R: m",
    ]


async def test_activity_above_the_rate_is_counted() -> None:
    import asyncio

    lines: list[str] = []
    clock = VirtualClock()
    printer = _printer(lines, clock)
    running = asyncio.ensure_future(printer.run())
    printer.on_writes([_write(f"a{number}") for number in range(100)])
    assert len(lines) == 25
    await clock.advance(2)
    assert lines[-1].endswith("… and 75 more")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def test_settings_are_explained_with_their_origin() -> None:
    found = resolve(command="up", flags={}, environment={"LOG_LEVEL": "debug"})
    explained = {each.name: each for each in explain(found, "up")}
    assert explained["log_level"].value == "debug"
    assert explained["log_level"].origin == "environment LOG_LEVEL"
    assert "context" not in explained


async def test_doctor_finds_what_is_in_the_way(tmp_path: Path) -> None:
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        settings = Settings(
            port=Port(port),
            http_port=Port(0),
            metrics_port=Port(0),
            health_port=Port(0),
            data_dir=tmp_path / "a" / "b",
        )
        findings = {each.what: each for each in await check(settings)}
    assert findings["port"].health is Health.BAD
    assert "--port" in findings["port"].text
    assert findings["data"].health is Health.OK
    assert findings["python"].health is Health.OK


async def test_doctor_recognizes_the_server_that_runs_on_the_same_data(tmp_path: Path) -> None:
    import os
    import socket

    from quarterdeck.storage.lockfile import LockFile

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        settings = Settings(
            port=Port(taken.getsockname()[1]),
            http_port=Port(0),
            metrics_port=Port(0),
            health_port=Port(0),
            data_dir=tmp_path,
        )
        lock = LockFile(tmp_path / "state.db.lock")
        running = {each.what: each for each in await check(settings)}["port"]
        lock.release()
        stopped = {each.what: each for each in await check(settings)}["port"]
    assert running.health is Health.NOTE
    assert f"process {os.getpid()}" in running.text
    assert stopped.health is Health.BAD


def test_followed_settings_change_the_level_and_nothing_by_mistake() -> None:
    before = logging.get_level()
    try:
        log = get_logger("test")
        apply_settings({"LOG_LEVEL": "debug"}, Settings(), log=log)
        assert logging.get_level() == "debug"
        apply_settings({"LOG_LEVEL": "loud"}, Settings(), log=log)
        assert logging.get_level() == "debug"
        apply_settings({}, Settings(log_level="error"), log=log)
        assert logging.get_level() == "error"
    finally:
        logging.set_level(before)


def test_manifests_run_without_privileges() -> None:
    documents = {(each["kind"], each["metadata"]["name"]): each for each in manifests.build_all()}
    pod = documents["Deployment", installation.NAME]["spec"]["template"]["spec"]
    container = pod["containers"][0]
    assert pod["securityContext"]["runAsUser"] == 65532
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    role = documents["ClusterRole", installation.NAME]
    assert not any("*" in rule["verbs"] + rule["resources"] for rule in role["rules"])


def test_manifests_take_another_image_and_namespace() -> None:
    documents = manifests.build_all(installation.Installation("here", "mine:1"))
    assert not [each for each in documents if "quarterdeck-system" in str(each)]
    assert "mine:1" in str(documents)


@pytest.mark.parametrize(
    ("certificate", "patch", "variable"),
    [
        ("certificate", "manager_certificate", "METRICS_CERT_PATH"),
        ("webhook_certificate", "manager_webhook_certificate", "WEBHOOK_CERT_PATH"),
    ],
)
def test_certificates_of_a_component_reach_the_manager(
    certificate: str, patch: str, variable: str
) -> None:
    made = component_manifests.build_components()["cert-manager"][certificate]
    patched = component_manifests.build_component_patches()["cert-manager"][patch]
    deployment = manifests.build_manager(installation.DEFAULT_INSTALLATION)["manager"]
    assert patched["metadata"]["name"] == deployment["metadata"]["name"]
    pod = patched["spec"]["template"]["spec"]
    (container,), (volume,) = pod["containers"], pod["volumes"]
    assert volume["secret"]["secretName"] == made["spec"]["secretName"]
    assert container["volumeMounts"][0]["mountPath"] == container["env"][0]["value"]
    assert container["env"][0]["name"] == variable
