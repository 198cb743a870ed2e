"""Attestation by a TPM in software over TLS, and what an attacker could try instead."""

import base64
import logging
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from bootstrap_world import NAMESPACE, Answer, BootstrapWorld, Machine, Replica, bootstrap_world
from software_tpm import SoftwareTpm, software_tpm

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.app import definitions
from quarterdeck.attest.credential import Credential
from quarterdeck.attest.endorsement import hash_key
from quarterdeck.attest.public_area import Attribute, parse_sized_public
from quarterdeck.attest.quote import bind_nonce

CHALLENGE, VERIFY = "/v1/attest/tpm/challenge", "/v1/attest/tpm/verify"
MAKER = {"trustedCARefs": [{"name": "tpm-maker", "namespace": NAMESPACE}]}


@pytest.fixture(scope="module")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


async def trust_maker(world: BootstrapWorld, tpm: SoftwareTpm) -> None:
    """Put the certificates of the TPM's maker where templates name them."""
    folder = tpm.folder / "ca"
    names = ("swtpm-localca-rootca-cert.pem", "issuercert.pem")
    data = {name: encode((folder / name).read_bytes()) for name in names}
    metadata = {"name": "tpm-maker", "namespace": NAMESPACE}
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
    await definitions.apply(world.client.raw, [secret])


def build_request(tpm: SoftwareTpm, claim: MachineClaim, csr: str) -> dict[str, Any]:
    """What a machine sends first."""
    public, certificate = tpm.endorse()
    return {
        "claimUid": claim.metadata.uid,
        "ekPublic": encode(public[2:]),
        "ekCertificate": encode(certificate),
        "akPublic": encode(tpm.create_attestation_key()),
        "csr": csr,
    }


def solve(tpm: SoftwareTpm, challenge: dict[str, Any], csr: str) -> dict[str, Any]:
    """What a machine sends second: the opened secret, and a quote bound to its request."""
    parts = (challenge["credentialBlob"], challenge["encryptedSecret"], challenge["nonce"])
    blob, secret, nonce = (base64.b64decode(each) for each in parts)
    opened = tpm.activate(Credential(blob, secret).to_tool_file())
    indexes = challenge["pcrSelection"]["sha256"]
    quote, signature, pcrs = tpm.quote(bind_nonce(nonce, csr.encode()), indexes=indexes)
    return {
        "sessionId": challenge["sessionId"],
        "secret": encode(opened),
        "quote": encode(quote),
        "signature": encode(signature),
        "pcrs": {str(index): value.hex() for index, value in pcrs.items()},
    }


async def attest(replica: Replica, tpm: SoftwareTpm, claim: MachineClaim, csr: str) -> Answer:
    """The whole exchange, or the first answer that refuses it."""
    asked = await replica.call("POST", CHALLENGE, build_request(tpm, claim, csr))
    if asked.status != 200:
        return asked
    return await replica.call("POST", VERIFY, solve(tpm, asked.body, csr))


def last_reason(caplog: pytest.LogCaptureFixture) -> str:
    found = [getattr(each, "fields", {}).get("reason", "") for each in caplog.records]
    return next((str(each) for each in reversed(found) if each), "")


async def test_tpm_of_a_known_maker_gets_a_certificate(tpm: SoftwareTpm) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim, machine = await world.add_claim("vm", "tpm", tpm=MAKER), Machine()
        answer = await attest(replica, tpm, claim, machine.csr)
        assert answer.status == 200, answer
        identity = hash_key(parse_sized_public(tpm.endorse()[0]).key)
        assert f"tpm:ek-hash:{identity}" in answer.body["selectors"]
        recorded = (await world.read_claim("vm")).status.attestation
        assert recorded is not None
        assert (recorded.method, recorded.ek_hash) == ("tpm", identity)
        machine.take(answer.body)
        beat = await replica.call("POST", "/v1/heartbeat", {"uptime": 1}, machine=machine)
        assert beat.body == {"directive": "none", "intervalSeconds": 15}


async def test_cloned_tpm_is_refused_while_the_first_claim_lives(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replicas = [await world.start_replica() for _ in range(2)]
        first, second = [await world.add_claim(f"vm-{at}", "tpm", tpm=MAKER) for at in range(2)]
        assert (await attest(replicas[0], tpm, first, Machine().csr)).status == 200
        assert (await attest(replicas[1], tpm, second, Machine().csr)).status == 401
        assert last_reason(caplog) == "ClonedTpm"
        assert (await attest(replicas[1], tpm, first, Machine().csr)).status == 200
        await world.client.delete(first)
        assert (await attest(replicas[1], tpm, second, Machine().csr)).status == 200


async def test_unknown_tpm_is_refused_unless_its_hash_is_listed(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        unknown = await world.add_claim("unknown", "tpm")
        assert (await attest(replica, tpm, unknown, Machine().csr)).status == 401
        assert last_reason(caplog) == "UntrustedTpm"
        identity = hash_key(parse_sized_public(tpm.endorse()[0]).key)
        rules = {"ekHashes": [identity], "requireEKCert": False}
        listed, csr = await world.add_claim("listed", "tpm", tpm=rules), Machine().csr
        request = build_request(tpm, listed, csr)
        del request["ekCertificate"]
        asked = await replica.call("POST", CHALLENGE, request)
        assert asked.status == 200
        answer = await replica.call("POST", VERIFY, solve(tpm, asked.body, csr))
        assert answer.status == 200


@pytest.mark.parametrize(
    ("added", "removed"),
    [
        pytest.param(Attribute.DECRYPT, 0, id="has the attribute decrypt"),
        pytest.param(0, Attribute.RESTRICTED, id="not restricted"),
        pytest.param(0, Attribute.FIXED_TPM, id="may leave the TPM"),
    ],
)
async def test_attestation_key_with_wrong_attributes_is_refused(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture, added: int, removed: int
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim = await world.add_claim("vm", "tpm", tpm=MAKER)
        request = build_request(tpm, claim, Machine().csr)
        area = bytearray(base64.b64decode(request["akPublic"]))
        attributes = (int.from_bytes(area[6:10], "big") | added) & ~removed
        area[6:10] = attributes.to_bytes(4, "big")
        request["akPublic"] = encode(bytes(area))
        assert (await replica.call("POST", CHALLENGE, request)).status == 401
        assert last_reason(caplog) == "UntrustedTpm"


async def test_unreadable_certificate_and_odd_cipher_are_refused_not_an_error(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim = await world.add_claim("vm", "tpm", tpm=MAKER)
        request = build_request(tpm, claim, Machine().csr)
        public, certificate = tpm.endorse()
        of_rsa, of_nothing = (
            bytes.fromhex("2a864886f70d010101"),
            bytes.fromhex("2a864886f70d01017f"),
        )
        aes, of_7_bits = bytes.fromhex("000600800043"), bytes.fromhex("000600070043")
        assert of_rsa in certificate
        assert aes in public
        for change in (
            {"ekCertificate": encode(certificate.replace(of_rsa, of_nothing))},
            {"ekPublic": encode(public[2:].replace(aes, of_7_bits))},
        ):
            assert (await replica.call("POST", CHALLENGE, request | change)).status == 401
            assert last_reason(caplog) == "UntrustedTpm"


async def test_answers_that_prove_nothing_are_refused(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        machine = Machine()

        async def ask(name: str) -> dict[str, Any]:
            claim = await world.add_claim(name, "tpm", tpm=MAKER)
            asked = await replica.call("POST", CHALLENGE, build_request(tpm, claim, machine.csr))
            assert asked.status == 200
            return asked.body

        async def expect(answer: dict[str, Any], reason: str) -> None:
            assert (await replica.call("POST", VERIFY, answer)).status == 401
            assert last_reason(caplog) == reason

        swapped = solve(tpm, await ask("swapped-csr"), Machine().csr)
        await expect(swapped, "InvalidQuote")
        await expect(swapped, "UnknownSession")
        asked = await ask("wrong-nonce")
        stale = solve(tpm, {**asked, "nonce": encode(bytes(32))}, machine.csr)
        await expect(stale, "InvalidQuote")
        guessed = solve(tpm, await ask("wrong-secret"), machine.csr)
        await expect({**guessed, "secret": encode(bytes(32))}, "WrongAnswer")
        changed = solve(tpm, await ask("wrong-pcr"), machine.csr)
        changed["pcrs"]["7"] = "11" * 32
        await expect(changed, "InvalidQuote")
        late = solve(tpm, await ask("late"), machine.csr)
        world.clock.shift += timedelta(seconds=61)
        await expect(late, "Expired")
        for name in ("swapped-csr", "wrong-nonce", "wrong-secret", "wrong-pcr", "late"):
            assert (await world.read_claim(name)).status.attestation is None


async def test_owner_of_the_claim_learns_of_late_and_malformed_answers(tpm: SoftwareTpm) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica, machine = await world.start_replica(), Machine()
        late = await world.add_claim("late", "tpm", tpm=MAKER)
        request = build_request(tpm, late, machine.csr)
        asked = await replica.call("POST", CHALLENGE, request)
        answer = {"secret": "", "quote": "", "signature": "", "pcrs": {}}
        world.clock.shift += timedelta(seconds=61)
        await replica.call("POST", VERIFY, {"sessionId": asked.body["sessionId"], **answer})
        refusal = (await world.read_claim("late")).status.attestation_refusal
        assert refusal is not None
        assert (refusal.reason, refusal.message) == (
            "Expired",
            "claim default/late: the challenge was answered after more than 60 s",
        )
        for name, change in (("key", {"akPublic": "%"}), ("request", {"csr": "nothing"})):
            claim = await world.add_claim(name, "tpm", tpm=MAKER)
            wrong = {**request, "claimUid": claim.metadata.uid, **change}
            assert (await replica.call("POST", CHALLENGE, wrong)).status == 401
            refusal = (await world.read_claim(name)).status.attestation_refusal
            assert refusal is not None
            assert refusal.reason == "Malformed"


async def test_boot_that_the_policy_does_not_know_is_refused(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        policy = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": "boots", "namespace": "default"},
            "data": {"mode": "exact", "7": "22" * 32},
        }
        await definitions.apply(world.client.raw, [policy])
        rules = {**MAKER, "pcrPolicyRef": {"name": "boots"}}
        claim = await world.add_claim("vm", "tpm", tpm=rules)
        assert (await attest(replica, tpm, claim, Machine().csr)).status == 401
        assert last_reason(caplog) == "InvalidQuote"


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        pytest.param({"8": "00" * 32}, "", id="register that is not quoted by default"),
        pytest.param({"8": "22" * 32}, "InvalidQuote", id="another boot"),
        pytest.param({"24": "00" * 32}, "UntrustedTpm", id="register that no TPM has"),
    ],
)
async def test_machines_quote_every_register_of_the_policy(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture, values: dict[str, str], reason: str
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        metadata = {"name": "boots", "namespace": "default"}
        policy = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": values}
        await definitions.apply(world.client.raw, [policy])
        rules = {**MAKER, "pcrPolicyRef": {"name": "boots"}}
        claim = await world.add_claim("vm", "tpm", tpm=rules)
        answer = await attest(replica, tpm, claim, Machine().csr)
        assert (answer.status, last_reason(caplog)) == (401 if reason else 200, reason)


async def test_selection_of_a_register_that_no_tpm_has_is_reported(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim = await world.add_claim("vm", "tpm", tpm={**MAKER, "pcrSelection": [0, 24]})
        answer = await attest(replica, tpm, claim, Machine().csr)
        assert (answer.status, last_reason(caplog)) == (401, "UntrustedTpm")
        refusal = (await world.read_claim("vm")).status.attestation_refusal
        assert refusal is not None
        assert "pcrSelection: PCR 24 does not exist" in refusal.message


async def test_claim_of_join_tokens_accepts_no_tpm(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("vm")
        assert (await attest(replica, tpm, claim, Machine().csr)).status == 401
        assert last_reason(caplog) == "WrongMethod"


async def test_strangers_who_fail_all_the_time_keep_no_machine_out(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica, machine = await world.start_replica(), Machine()
        claim = await world.add_claim("vm", "tpm", tpm=MAKER)
        request = build_request(tpm, claim, machine.csr)
        wrong = {**request, "ekCertificate": ""}

        async def fail() -> int:
            """Fail from the address of the machine, and from another one."""
            await replica.call_from("198.51.100.7", CHALLENGE, wrong)
            return (await replica.call("POST", CHALLENGE, wrong)).status

        assert [await fail() for _ in range(7)] == [401] * 5 + [429] * 2
        assert last_reason(caplog) == "Limited"
        asked = await replica.call("POST", CHALLENGE, request)
        assert asked.status == 200
        # A stranger with a trusted TPM, or who saw this one's keys, voids no challenge either.
        assert (await replica.call_from("198.51.100.7", CHALLENGE, request)).status == 200
        await fail()
        answer = await replica.call("POST", VERIFY, solve(tpm, asked.body, machine.csr))
        assert answer.status == 200
