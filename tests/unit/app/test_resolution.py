"""Where settings come from, and what is refused."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any

import msgspec
import pytest

from quarterdeck.app import doctor, resolution
from quarterdeck.app.clusters_settings import Settings as ClustersSettings
from quarterdeck.app.errors import SettingError
from quarterdeck.app.option import Option, Port
from quarterdeck.app.parts import PARTS, Part
from quarterdeck.app.resolution import DEFAULT, EffectiveSettings, list_fields, resolve
from quarterdeck.app.settings import Settings
from quarterdeck.cli.settings import add_settings
from quarterdeck.kit.redaction import Secret


def settle(
    command: str = "up",
    *,
    flags: Mapping[str, object] | None = None,
    env: Mapping[str, str] | None = None,
    file: Mapping[str, object] | None = None,
) -> EffectiveSettings:
    return resolve(
        command=command, flags=flags or {}, environment=env or {}, document=file, file="q.yaml"
    )


def test_defaults_are_those_of_the_struct() -> None:
    found = settle("run")
    assert found.settings == Settings()
    assert set(found.origins.values()) == {DEFAULT}


def test_flags_win_over_environment_and_environment_over_file() -> None:
    env, file = {"QUARTERDECK_PORT": "2"}, {"port": 3}
    assert settle(flags={"port": "1"}, env=env, file=file).settings.port == 1
    assert settle(env=env, file=file).settings.port == 2
    found = settle(file=file)
    assert (found.settings.port, found.origins["port"]) == (3, "file q.yaml")
    assert settle(env=env).origins["port"] == "environment QUARTERDECK_PORT"
    assert settle(flags={"port": "1"}).origins["port"] == "flag --port"


def test_port_moves_the_facade_of_up_and_opens_nothing_in_run() -> None:
    assert settle("up").settings.http_port == 3000
    assert settle("up", env={"PORT": "8000"}).settings.http_port == 8000
    assert settle("run").settings.http_port is None
    assert settle("run", env={"PORT": "8000"}).settings.http_port is None
    assert settle("run", flags={"http_port": "8000"}).settings.http_port == 8000


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        pytest.param("in_memory", "yes", True, id="truth"),
        pytest.param("in_memory", "OFF", False, id="falsehood"),
        pytest.param("operators", "a, b,a", ("a", "b"), id="list"),
        pytest.param("operators", ["a"], ("a",), id="list from file"),
        pytest.param("data_dir", "/x", Path("/x"), id="path"),
        pytest.param("log_level", "WARN", "warning", id="level"),
        pytest.param("workers", "1", 1, id="count"),
    ],
)
def test_values_become_their_types(name: str, given: object, expected: Any) -> None:
    assert getattr(settle(flags={name: given}).settings, name) == expected


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        pytest.param({"port": "http"}, ["port", "--port", "'http'", "0 to 65535"], id="port"),
        pytest.param({"port": "65536"}, ["65535"], id="port too large"),
        pytest.param({"port": "-1"}, ["number"], id="negative port"),
        pytest.param({"port": "８０"}, ["number"], id="digits of another script"),
        pytest.param({"in_memory": "maybe"}, ["true or false"], id="truth"),
        pytest.param({"log_level": "loud"}, ["debug, info, warning, error"], id="level"),
        pytest.param({"workers": "0"}, ["from 1 to 256"], id="no workers"),
        pytest.param({"event_history": "1e9"}, ["number"], id="history"),
    ],
)
def test_bad_values_name_the_setting_the_value_and_the_fix(
    flags: dict[str, object], words: list[str]
) -> None:
    with pytest.raises(SettingError) as refused:
        settle(flags=flags)
    assert all(word in str(refused.value) for word in words)


def test_unknown_settings_in_the_file_are_refused() -> None:
    with pytest.raises(SettingError, match=r"q\.yaml: unknown setting 'prot'.*port"):
        settle(file={"prot": 1})


def test_bad_values_in_the_file_are_refused() -> None:
    with pytest.raises(SettingError, match=r"dataDir|data_dir"):
        settle(file={"dataDir": {"a": 1}})


def test_every_setting_has_help_and_a_flag_of_its_own() -> None:
    flags = [field.flag for field in list_fields()]
    assert len(set(flags)) == len(flags)
    assert all(field.option.help and field.option.commands for field in list_fields())


@pytest.mark.parametrize(
    "flag",
    [
        *("--port", "--http-port", "--dashboard-port", "--metrics-port", "--health-port"),
        *("--fleet-port", "--bootstrap-port", "--ingester-port", "--webhook-port"),
        "--runner-webhook-port",
        *("--data-dir", "--in-memory", "--operators", "--demo"),
    ],
)
def test_flags_users_were_promised_exist(flag: str) -> None:
    assert flag in [field.flag for field in list_fields() if "up" in field.option.commands]


@pytest.mark.parametrize(
    "name",
    [
        *("LOG_LEVEL", "NAMESPACE", "METRICS_BIND_ADDRESS", "HEALTH_PROBE_BIND_ADDRESS"),
        *("ENABLE_LEADER_ELECTION", "POD_NAME"),
    ],
)
def test_environment_names_of_the_existing_projects_stay_valid(name: str) -> None:
    assert name in [env for field in list_fields() for env in field.option.env]


def test_every_port_of_an_operator_is_a_setting() -> None:
    ports = {field.name for field in list_fields() if field.type is Port}
    assert {name for part in PARTS for name in part.ports} <= ports


def test_an_operator_can_declare_settings_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("engine_settings")
    module.Settings = EngineSettings  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "engine_settings", module)
    part = Part("engine", "runs", "apis", "module", settings="engine_settings")
    monkeypatch.setattr(resolution, "PARTS", (*PARTS, part))
    for cached in (list_fields, resolution._list_owners):
        cached.cache_clear()
    try:
        found = settle(env={"ENGINE_TOKEN": "s3cret"}, file={"engineSpeed": 9})
        own = next(each for each in found.part_settings if isinstance(each, EngineSettings))
        assert own == EngineSettings(engine_speed=9, engine_token=Secret("s3cret"))
        assert found.origins["engine_token"] == "environment ENGINE_TOKEN"
        token = next(field for field in list_fields() if field.name == "engine_token")
        assert str(found.get_value(token)) == "***"
        with pytest.raises(SettingError, match="from 1 to 10"):
            settle(flags={"engine_speed": "11"})
        with pytest.raises(SettingError) as refused:
            settle(file={"engineToken": ["s3cret"]})
        assert "s3cret" not in str(refused.value)
    finally:
        for cached in (list_fields, resolution._list_owners):
            cached.cache_clear()


class EngineSettings(msgspec.Struct, frozen=True, kw_only=True):
    engine_speed: Annotated[int, Option(help="Speed.", minimum=1, maximum=10)] = 1
    engine_token: Annotated[Secret[str], Option(help="Token.", env=("ENGINE_TOKEN",))] = Secret("")


def test_the_flag_of_controller_runtime_for_health_is_accepted() -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser, "run")
    given = vars(parser.parse_args(["--health-probe-bind-address", ":9081"]))
    found = resolve(command="run", flags=given, environment={})
    assert found.settings.health_bind_address == ":9081"


@pytest.mark.parametrize(
    ("given", "port"), [("80", 1024), ("0", 0), ("1024", 1024), ("9443", 9443)]
)
def test_the_port_of_the_ingester_is_none_of_the_privileged(given: str, port: int) -> None:
    assert settle(env={"INGESTER_PORT": given}).settings.ingester_port == port


@pytest.mark.parametrize(
    ("given", "interval"), [("5", 30), ("abc", 30), ("120", 120), ("-1", 30), ("", 30)]
)
def test_kept_variables_are_raised_to_their_minimum(given: str, interval: int) -> None:
    found = settle(env={"RECONCILIATION_INTERVAL": given, "VM_ENABLED": "yes"})
    hub = next(each for each in found.part_settings if isinstance(each, ClustersSettings))
    assert hub.reconciliation_interval == interval
    assert hub.vm_enabled
    assert hub.ingester_tls_enabled


@pytest.mark.parametrize("given", ["5", "abc", "-1"])
def test_flags_and_files_below_a_minimum_are_refused(given: str) -> None:
    message = "reconciliation_interval '.*: must be"
    with pytest.raises(SettingError, match=message):
        settle(flags={"reconciliation_interval": given})
    with pytest.raises(SettingError, match=message):
        settle(file={"reconciliationInterval": given})


def test_every_kept_variable_has_the_default_it_always_had() -> None:
    hub = ClustersSettings()
    assert (hub.operator_scan_interval, hub.cache_ttl, hub.metrics_retention) == (300, 600, 3600)
    assert (hub.max_pods_per_namespace, hub.max_total_pods) == (100, 1000)
    assert (hub.max_deployments, hub.max_services, hub.connect_timeout) == (500, 500, 10)
    assert hub.node_unhealthy_threshold == 0.5
    with pytest.raises(SettingError, match="node_unhealthy_threshold"):
        settle(env={"NODE_UNHEALTHY_THRESHOLD": "2"})


def test_a_password_in_an_address_is_not_shown() -> None:
    found = settle(env={"REDIS_URL": "redis://:hunter2@redis/1"})
    shown = {each.name: each.value for each in doctor.explain(found, "up")}
    assert "hunter2" not in str(shown)
    assert shown["redis_url"].endswith("@redis/1")


def test_a_secret_is_masked_only_where_there_is_one() -> None:
    found = settle(env={"REDIS_PASSWORD": "hunter2"})
    shown = {each.name: each.value for each in doctor.explain(found, "up")}
    assert (shown["redis_password"], shown["grafana_token"]) == ("***", "-")
    assert shown["ingester_tls_key"] == "/etc/ingester-tls/tls.key"  # the default, a path
    given = settle(env={"INGESTER_TLS_KEY": "hunter2"})
    assert "hunter2" not in str(doctor.explain(given, "up"))
    field = next(each for each in list_fields() if each.name == "redis_password")
    assert field.default_text == ""
