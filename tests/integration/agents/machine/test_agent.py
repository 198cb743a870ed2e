"""The agent as one file in a process of its own, against the real service over TLS."""

import asyncio
import contextlib
import json
import stat
import sys
from collections.abc import AsyncIterator, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from bootstrap_world import NAMESPACE, BootstrapWorld, Replica, bootstrap_world
from software_tpm import SoftwareTpm, software_tpm

from quarterdeck.agents.machine.bundle import write_zipapp
from quarterdeck.agents.machine.facts import describe_machine
from quarterdeck.agents.machine.settings import SettingsError, load_settings
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.app import definitions
from quarterdeck.testing import programs


class Process:
    """A running agent, and what it has written."""

    def __init__(self, process: asyncio.subprocess.Process, folder: Path) -> None:
        self.process = process
        self.folder = folder
        self.lines: list[str] = []

    async def wait_for(self, text: str) -> None:
        """Read lines until one has the text."""
        assert self.process.stderr is not None
        while line := (await self.process.stderr.readline()).decode():
            self.lines.append(line)
            if text in line:
                return
        raise AssertionError(f"the agent ended without {text!r}: {self.lines}")


@contextlib.asynccontextmanager
async def agent(
    folder: Path, replica: Replica, claim: MachineClaim, *options: str, **settings: Any
) -> AsyncIterator[Process]:
    """Start the agent with the file that a seed would have written; only the library it needs."""
    programs.require("openssl")
    write_zipapp(folder / "agent.pyz")
    config = folder / "agent.json"
    document = {
        "url": replica.url,
        "trustBundle": replica.bundle,
        "claim": {"uid": claim.metadata.uid},
        **settings,
    }
    config.write_text(json.dumps(document))
    config.chmod(0o600)
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-S", str(folder / "agent.pyz"), "--config", str(config)),
        *("--state-dir", str(folder / "state"), "--power-off", f"touch {folder / 'off'}"),
        *options,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        yield Process(process, folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            process.terminate()
        await process.communicate()


async def test_machine_joins_by_token_renews_and_shuts_down(tmp_path: Path) -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica(lifetime=timedelta(seconds=20), heartbeat_s=0.2)
        claim = await world.add_claim("vm")
        world.clock.shift = timedelta()
        token = await world.issue(replica, claim)
        async with agent(tmp_path, replica, claim, method="join-token", token=token) as running:
            await running.wait_for("reported Ready")
            stored = (await world.read_claim("vm")).status
            assert stored.bootstrap_info == "Ready"
            assert stored.attestation is not None
            check_no_secret_is_left(tmp_path, token)
            await running.wait_for("certificate renewed")
            renewed = (await world.read_claim("vm")).status.attestation
            assert renewed is not None
            assert renewed.cert_serial != stored.attestation.cert_serial
            await world.set_phase("vm", "Draining")
            await running.wait_for("drain requested")
            await world.set_phase("vm", "Terminating")
            await running.wait_for("shutting down")
            assert await running.process.wait() == 0
            assert (tmp_path / "off").exists()
            assert token not in "".join(running.lines)


def check_no_secret_is_left(folder: Path, token: str) -> None:
    """The token is nowhere on the disk, and the key is for its owner alone."""
    for path in folder.rglob("*"):
        if path.is_file():
            assert token.split(".")[2].encode() not in path.read_bytes(), path
    assert stat.S_IMODE((folder / "state" / "key.pem").stat().st_mode) == 0o600


async def test_token_bound_to_a_hardware_address_is_used_on_that_machine_only(
    tmp_path: Path,
) -> None:
    own = describe_machine()["mac"]
    if not own:
        pytest.skip("this machine has no network device")
    async with bootstrap_world() as world:
        replica = await world.start_replica(heartbeat_s=0.2)
        claims = [await world.add_claim(name) for name in ("right", "wrong")]
        world.clock.shift = timedelta()
        addresses = (own[0].upper(), "52:54:00:00:00:00")
        words = ("reported Ready", "refused by the bootstrap service")
        for claim, address, wanted in zip(claims, addresses, words, strict=True):
            token = await world.issue(replica, claim, boundMAC=address)
            folder = tmp_path / claim.metadata.name
            folder.mkdir()
            async with agent(folder, replica, claim, method="join-token", token=token) as running:
                await running.wait_for(wanted)


async def test_refused_machine_ends_with_its_own_code(tmp_path: Path) -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("vm")
        token = "hf1.aaaaaaaaaaaa." + "A" * 43
        async with agent(tmp_path, replica, claim, method="join-token", token=token) as running:
            await running.wait_for("refused by the bootstrap service")
            assert await running.process.wait() == 5


async def test_agent_trusts_no_other_service(tmp_path: Path) -> None:
    async with bootstrap_world() as world, bootstrap_world() as other:
        rogue, trusted = await other.start_replica(), await world.start_replica()
        claim = await world.add_claim("vm")
        rogue.bundle = trusted.bundle
        token = await world.issue(trusted, claim)
        async with agent(tmp_path, rogue, claim, method="join-token", token=token) as running:
            await running.wait_for("will try again")
            assert "CERTIFICATE_VERIFY_FAILED" in running.lines[-1]


@pytest.fixture(scope="module")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


async def trust_maker(world: BootstrapWorld, tpm: SoftwareTpm) -> None:
    texts = {
        name: (tpm.folder / "ca" / name).read_text()
        for name in ("swtpm-localca-rootca-cert.pem", "issuercert.pem")
    }
    metadata = {"name": "tpm-maker", "namespace": NAMESPACE}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "stringData": texts}
    await definitions.apply(world.client.raw, [secret])


async def test_machine_proves_itself_by_its_tpm_and_its_clone_does_not(
    tmp_path: Path, tpm: SoftwareTpm
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica(heartbeat_s=0.2)
        rules = {"trustedCARefs": [{"name": "tpm-maker", "namespace": NAMESPACE}]}
        first, clone = [await world.add_claim(name, "tpm", tpm=rules) for name in ("vm", "clone")]
        world.clock.shift = timedelta()
        options = ("--tcti", tpm.tcti)
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
        async with agent(tmp_path / "one", replica, first, *options, method="tpm") as running:
            await running.wait_for("reported Ready")
            recorded = (await world.read_claim("vm")).status.attestation
            assert recorded is not None
            assert recorded.method == "tpm"
            async with agent(tmp_path / "two", replica, clone, *options, method="tpm") as copied:
                await copied.wait_for("refused by the bootstrap service")
                assert await copied.process.wait() == 5


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"method":"magic","url":"https://x","trustBundle":"y"}',
        '{"method":"join-token","url":"https://x","trustBundle":"y"}',
    ],
    ids=["empty", "no object", "no members", "unknown method", "no certificate"],
)
def test_file_that_cannot_be_used_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "agent.json"
    path.write_text(text)
    with pytest.raises(SettingsError, match=r"agent\.json"):
        load_settings(path)
