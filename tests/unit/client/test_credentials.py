import stat
import sys
from pathlib import Path

import pytest

from quarterdeck.client.config.cluster import ClusterConfig, ExecConfig
from quarterdeck.client.credentials import ExecProvider, TokenFileProvider, provider_for
from quarterdeck.client.errors import CredentialError
from quarterdeck.kit.clock import VirtualClock
from quarterdeck.kit.redaction import Secret

CLUSTER = ClusterConfig(server="https://127.0.0.1:1")


def plugin(tmp_path: Path, body: str) -> ExecConfig:
    path = tmp_path / "plugin.py"
    path.write_text(f"#!{sys.executable}\nimport json, os, sys\n{body}")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return ExecConfig(command=str(path))


async def test_a_token_file_is_read_anew_when_it_rotates(tmp_path: Path) -> None:
    clock = VirtualClock()
    path = tmp_path / "token"
    path.write_text("one\n")
    provider = TokenFileProvider(path, clock)
    assert (await provider.credentials()).authorization == "Bearer one"
    path.write_text("two")
    assert (await provider.credentials()).authorization == "Bearer one"
    await clock.advance(61)
    assert (await provider.credentials()).authorization == "Bearer two"
    assert not await provider.refresh()
    path.write_text("three")
    assert await provider.refresh()


async def test_an_exec_plugin_is_asked_again_before_its_answer_expires(tmp_path: Path) -> None:
    clock = VirtualClock()
    config = plugin(
        tmp_path,
        f"""
counter = {str(tmp_path / "count")!r}
n = int(open(counter).read()) + 1 if os.path.exists(counter) else 1
open(counter, "w").write(str(n))
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
print(json.dumps({{"kind": info["kind"], "status": {{
    "token": f"t{{n}}", "expirationTimestamp": "2026-01-01T00:10:00Z"}}}}))
""",
    )
    provider = ExecProvider(config, CLUSTER, clock)
    assert (await provider.credentials()).authorization == "Bearer t1"
    assert (await provider.credentials()).authorization == "Bearer t1"
    await clock.advance(9.6 * 60)
    assert (await provider.credentials()).authorization == "Bearer t2"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "failed with exit code 3"),
        ("print('nonsense secret')", "did not print an ExecCredential"),
        ("print(json.dumps({'status': {}}))", "with a token or a certificate"),
    ],
)
async def test_a_failing_plugin_is_named_without_its_output(
    tmp_path: Path, body: str, message: str
) -> None:
    provider = ExecProvider(plugin(tmp_path, body), CLUSTER, VirtualClock())
    with pytest.raises(CredentialError, match=message) as caught:
        await provider.credentials()
    assert "secret" not in str(caught.value)


async def test_a_missing_plugin_shows_its_install_hint() -> None:
    config = ExecConfig(command="/nonexistent/login", install_hint="get it at the desk")
    with pytest.raises(CredentialError, match="is missing: get it at the desk"):
        await ExecProvider(config, CLUSTER, VirtualClock()).credentials()


async def test_a_user_and_password_become_basic_auth() -> None:
    config = ClusterConfig(server="https://h", username="a", password=Secret("b"))
    found = await provider_for(config, VirtualClock()).credentials()
    assert found.authorization == "Basic YTpi"
    assert "YTpi" not in repr(found)
