import asyncio
import os
import stat
import sys
import termios
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from quarterdeck.client.config.cluster import ClusterConfig, ExecConfig, PemSource
from quarterdeck.client.credentials import ExecProvider, TokenFileProvider, build_provider
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
    assert (await provider.get_credentials()).authorization == "Bearer one"
    path.write_text("two")
    assert (await provider.get_credentials()).authorization == "Bearer one"
    await clock.advance(61)
    assert (await provider.get_credentials()).authorization == "Bearer two"
    assert not await provider.refresh()
    path.write_text("three")
    assert await provider.refresh()


@pytest.mark.parametrize("content", [None, b"\n", b"\xff"], ids=["missing", "empty", "no text"])
async def test_the_last_token_is_sent_while_its_file_cannot_be_read(
    tmp_path: Path, content: bytes | None
) -> None:
    clock = VirtualClock()
    path = tmp_path / "token"
    path.write_text("one")
    provider = TokenFileProvider(path, clock)
    await provider.get_credentials()
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    await clock.advance(61)
    assert (await provider.get_credentials()).authorization == "Bearer one"
    assert not await provider.refresh()
    path.write_text("two")
    assert (await provider.get_credentials()).authorization == "Bearer two"


async def test_an_empty_token_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("\n")
    with pytest.raises(CredentialError, match=r"cannot read the token file .*token: it is empty"):
        await TokenFileProvider(path, VirtualClock()).get_credentials()


async def test_a_token_file_of_two_lines_is_named(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text("one\ntwo\n")
    with pytest.raises(CredentialError, match=r"token file .*token: it contains a space"):
        await TokenFileProvider(path, VirtualClock()).get_credentials()


@pytest.fixture
def terminal() -> Iterator[int]:
    """The other end of a terminal that is the standard input of this process."""
    ours, theirs = os.openpty()
    before = os.dup(0)
    os.dup2(theirs, 0)
    try:
        yield ours
    finally:
        os.dup2(before, 0)
        for each in (ours, theirs, before):
            os.close(each)


LOGIN = """
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
sys.stderr.write("log in at the desk\\n")
answer = sys.stdin.readline().strip() if info["spec"]["interactive"] else "nobody"
print(json.dumps({"status": {"token": answer}}))
"""


@pytest.mark.parametrize(
    ("mode", "user"), [("IfAvailable", "ann"), ("Always", "ann"), ("Never", "nobody")]
)
async def test_an_exec_plugin_may_ask_the_user(
    tmp_path: Path, terminal: int, capfd: pytest.CaptureFixture[str], mode: str, user: str
) -> None:
    config = msgspec.structs.replace(plugin(tmp_path, LOGIN), interactive_mode=mode)
    os.write(terminal, b"ann\n")
    found = await ExecProvider(config, CLUSTER, VirtualClock()).get_credentials()
    assert found.authorization == f"Bearer {user}"
    assert capfd.readouterr().err == "log in at the desk\n"


async def test_a_terminal_has_its_echo_after_a_plugin_was_interrupted(
    tmp_path: Path, terminal: int
) -> None:
    script = """
import termios
settings = termios.tcgetattr(0)
settings[3] &= ~termios.ECHO
termios.tcsetattr(0, termios.TCSANOW, settings)
os.write(0, b"?")
sys.stdin.readline()
"""
    provider = ExecProvider(plugin(tmp_path, script), CLUSTER, VirtualClock())
    login = asyncio.create_task(provider.get_credentials())
    assert await asyncio.to_thread(os.read, terminal, 1) == b"?"
    assert not termios.tcgetattr(0)[3] & termios.ECHO
    login.cancel()
    with pytest.raises(asyncio.CancelledError):
        await login
    assert termios.tcgetattr(0)[3] & termios.ECHO


async def test_an_exec_plugin_that_must_ask_needs_a_terminal(tmp_path: Path) -> None:
    config = msgspec.structs.replace(plugin(tmp_path, LOGIN), interactive_mode="Always")
    with pytest.raises(CredentialError, match=r"needs a terminal \(interactiveMode: Always\)"):
        await ExecProvider(config, CLUSTER, VirtualClock()).get_credentials()


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
    assert (await provider.get_credentials()).authorization == "Bearer t1"
    assert (await provider.get_credentials()).authorization == "Bearer t1"
    await clock.advance(9.6 * 60)
    assert (await provider.get_credentials()).authorization == "Bearer t2"


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "failed with exit code 3"),
        ("print('nonsense secret')", "did not print an ExecCredential"),
        ("print(json.dumps({'status': {}}))", "with a token or a certificate"),
        ("print(json.dumps({'status': {'token': 5}}))", "did not print an ExecCredential"),
        ("print(json.dumps({'status': {'token': 'secret\\n'}}))", "contains a space"),
    ],
)
async def test_a_failing_plugin_is_named_without_its_output(
    tmp_path: Path, body: str, message: str
) -> None:
    provider = ExecProvider(plugin(tmp_path, body), CLUSTER, VirtualClock())
    with pytest.raises(CredentialError, match=message) as caught:
        await provider.get_credentials()
    assert "secret" not in str(caught.value)


async def test_a_missing_plugin_shows_its_install_hint() -> None:
    config = ExecConfig(command="/nonexistent/login", install_hint="get it at the desk")
    with pytest.raises(CredentialError, match="was not found: get it at the desk"):
        await ExecProvider(config, CLUSTER, VirtualClock()).get_credentials()


async def test_a_user_and_password_become_basic_auth() -> None:
    config = ClusterConfig(server="https://h", username="a", password=Secret("b"))
    found = await build_provider(config, VirtualClock()).get_credentials()
    assert found.authorization == "Basic YTpi"
    assert "YTpi" not in repr(found)


async def test_a_token_is_sent_as_it_is_and_never_renewed() -> None:
    provider = build_provider(ClusterConfig(server="https://h", token=Secret("t")), VirtualClock())
    assert (await provider.get_credentials()).authorization == "Bearer t"
    assert not await provider.refresh()


async def test_a_configuration_without_credentials_sends_none() -> None:
    found = await build_provider(CLUSTER, VirtualClock()).get_credentials()
    assert (found.authorization, found.certificate) == ("", b"")


async def test_a_missing_token_file_is_named(tmp_path: Path) -> None:
    config = ClusterConfig(server="https://h", token_file=tmp_path / "token")
    with pytest.raises(CredentialError, match="cannot read the token file"):
        await build_provider(config, VirtualClock()).get_credentials()


async def test_certificate_files_are_read_anew_when_they_are_renewed(tmp_path: Path) -> None:
    clock = VirtualClock()
    certificate, key = tmp_path / "tls.crt", tmp_path / "tls.key"
    config = ClusterConfig(
        server="https://h",
        token=Secret("t"),
        client_certificate=PemSource(file=certificate),
        client_key=PemSource(file=key),
    )
    provider = build_provider(config, clock)
    with pytest.raises(CredentialError, match=r"cannot read .*tls.crt: No such file"):
        await provider.get_credentials()
    certificate.write_bytes(b"one")
    key.write_bytes(b"key")
    found = await provider.get_credentials()
    assert (found.authorization, found.certificate, found.key) == ("Bearer t", b"one", b"key")
    certificate.write_bytes(b"two")
    assert (await provider.get_credentials()).certificate == b"one"
    assert await provider.refresh()
    assert (await provider.get_credentials()).certificate == b"two"
    assert not await provider.refresh()
    key.unlink()  # somebody is writing it anew: the last good pair serves meanwhile
    await clock.advance(61)
    assert (await provider.get_credentials()).key == b"key"


async def test_a_plugin_is_told_of_the_cluster_if_it_asks(tmp_path: Path) -> None:
    told = tmp_path / "told"
    body = f"""
open({str(told)!r}, "w").write(os.environ["KUBERNETES_EXEC_INFO"] + os.environ["EXTRA"])
print(json.dumps({{"status": {{"clientCertificateData": "CERT", "clientKeyData": "KEY"}}}}))
"""
    config = msgspec.structs.replace(
        plugin(tmp_path, body), provide_cluster_info=True, env=(("EXTRA", "more"),)
    )
    cluster = ClusterConfig(
        server="https://h", certificate_authority=PemSource(data=Secret(b"CA")), exec=config
    )
    provider = build_provider(cluster, VirtualClock())
    found = await provider.get_credentials()
    assert (found.authorization, found.certificate, found.key) == ("", b"CERT", b"KEY")
    assert '"server":"https://h"' in told.read_text()
    assert '"certificate-authority-data":"Q0E="' in told.read_text()
    assert told.read_text().endswith("more")
    assert not await provider.refresh()


async def test_a_plugin_that_is_not_a_program_is_named(tmp_path: Path) -> None:
    path = tmp_path / "plugin"
    path.write_text("not executable")
    with pytest.raises(CredentialError, match="cannot be started: Permission denied"):
        await ExecProvider(ExecConfig(command=str(path)), CLUSTER, VirtualClock()).get_credentials()
