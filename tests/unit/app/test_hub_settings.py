"""Settings of the hub that cannot work are refused at the start, by the name of the variable."""

from pathlib import Path
from typing import Any

import pytest

from quarterdeck.app.clusters_settings import Settings
from quarterdeck.app.dashboard import explain_remotely
from quarterdeck.app.errors import SettingError, StartError
from quarterdeck.app.hub_identity import build_identity, check_identity_settings
from quarterdeck.app.hub_process import serve_hub
from quarterdeck.app.hub_storage import find_redis_address, open_history, open_state
from quarterdeck.app.ingester_process import serve_ingester_alone
from quarterdeck.app.settings import Settings as ProcessSettings
from quarterdeck.client import Client, ClusterConfig
from quarterdeck.hubstate.redis.state import RedisState
from quarterdeck.hubstate.victoriametrics.history import VictoriaMetrics
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret

ISSUER: dict[str, Any] = {"hub_oidc_issuer": "https://id.example.org", "hub_oidc_client_id": "hub"}


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"oauth_trusted_proxies": "10.0.0.0/8, proxy"}, r"'proxy' \(OAUTH_TRUSTED_PROXIES\)"),
        ({"hub_url": "hub.example.org"}, r"'hub\.example\.org' \(HUB_URL\): must be http\[s\]"),
        ({"hub_url": "https://hub.example.org/path"}, r"\(HUB_URL\)"),
        ({"hub_oidc_issuer": "http://id.example.org"}, r"\(HUB_OIDC_ISSUER\)"),
        (
            {**ISSUER, "hub_oidc_scopes": "email"},
            r"'email' \(HUB_OIDC_SCOPES\): must contain openid",
        ),
    ],
)
def test_identity_setting_that_cannot_work_is_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingError, match=words):
        check_identity_settings(Settings(**given))


def test_identity_settings_that_work_are_accepted() -> None:
    proxies = "10.0.0.1, fd00::/8,"
    check_identity_settings(
        Settings(**ISSUER, oauth_trusted_proxies=proxies, hub_url="https://hub.example.org/")
    )


async def test_issuer_adds_a_login_of_its_own(tmp_path: Path) -> None:
    async with Client(ClusterConfig(server="http://127.0.0.1:9")) as client:
        clock = VirtualClock()
        assert build_identity(Settings(), api=client.raw, clock=clock).oidc is None
        settings = Settings(**ISSUER, hub_url="https://hub.example.org")
        assert build_identity(settings, api=client.raw, clock=clock).oidc is not None
        absent = Settings(**ISSUER, hub_oidc_ca_file=str(tmp_path / "absent.crt"))
        with pytest.raises(SettingError, match=r"absent\.crt' \(HUB_OIDC_CA_FILE\)"):
            build_identity(absent, api=client.raw, clock=clock)


def test_address_of_redis_comes_from_a_url_or_a_host() -> None:
    assert find_redis_address(Settings()) is None
    by_host = find_redis_address(
        Settings(redis_host="db", redis_port=7, redis_db=2, redis_password=Secret("p"))
    )
    by_url = find_redis_address(Settings(redis_url="redis://:p@db:7/2"))
    assert by_host is not None
    assert by_url is not None
    assert (by_host.hosts, by_host.db) == (by_url.hosts, by_url.db) == ((("db", 7),), 2)
    with pytest.raises(SettingError, match=r"invalid redis_url \(REDIS_URL\)"):
        find_redis_address(Settings(redis_url="http://db"))


async def test_stores_are_those_of_the_settings(tmp_path: Path) -> None:
    clock = VirtualClock()
    state = open_state(Settings(redis_host="db"), tmp_path, clock=clock)
    assert isinstance(state, RedisState)
    await state.aclose()
    history = open_history(
        Settings(vm_enabled=True, vm_endpoint="http://vm:8428"), tmp_path, clock=clock
    )
    assert isinstance(history, VictoriaMetrics)
    await history.aclose()
    with pytest.raises(SettingError, match=r"'vm:8428' \(VM_ENDPOINT\): must be http://HOST:PORT"):
        open_history(Settings(vm_enabled=True, vm_endpoint="vm:8428"), tmp_path, clock=clock)


def test_embedded_store_that_cannot_be_opened_is_one_line(tmp_path: Path) -> None:
    for name in ("hub.db", "history.db"):
        (tmp_path / name).write_bytes(b"no database " * 100)
    with pytest.raises(StartError, match=r"hub\.db"):
        open_state(Settings(), tmp_path, clock=VirtualClock())
    with pytest.raises(StartError, match=r"history\.db"):
        open_history(Settings(), tmp_path, clock=VirtualClock())


async def test_operators_elsewhere_are_asked_over_https_only(tmp_path: Path) -> None:
    config, clock = ClusterConfig(server="http://127.0.0.1:9"), VirtualClock()
    assert explain_remotely(Settings(), config, clock=clock) is None
    with pytest.raises(SettingError, match=r"'http://b' \(OPERATORS_URL\): must be https://"):
        explain_remotely(Settings(operators_url="https://a, http://b"), config, clock=clock)
    absent = Settings(operators_url="https://a", operators_ca_file=str(tmp_path / "absent.crt"))
    with pytest.raises(SettingError, match=r"absent\.crt' \(OPERATORS_CA_FILE\)"):
        explain_remotely(absent, config, clock=clock)
    assert explain_remotely(Settings(operators_url="https://a"), config, clock=clock) is not None


async def test_hub_and_ingester_alone_need_a_redis_to_share() -> None:
    for serve in (serve_hub, serve_ingester_alone):
        with pytest.raises(SettingError, match=r"set REDIS_URL or REDIS_HOST to the Redis of"):
            await serve(ProcessSettings(), Settings())
