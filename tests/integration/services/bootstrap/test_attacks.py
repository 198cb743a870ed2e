"""Attacks on the bootstrap service: refused, all alike to the caller, and logged exactly."""

import asyncio
import contextlib
import logging
import os
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from bootstrap_world import Machine, Replica, bootstrap_world, name_of
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID
from software_tpm import SoftwareTpm, software_tpm
from tests.integration.services.bootstrap.test_join_tokens import JOIN, TOKENS, reasons
from tests.integration.services.bootstrap.test_machine_calls import BEAT, RENEW, join
from tests.integration.services.bootstrap.test_tpm import (
    CHALLENGE,
    MAKER,
    VERIFY,
    attest,
    build_request,
    encode,
    last_reason,
    solve,
    trust_maker,
)

from quarterdeck.attest.endorsement import hash_key
from quarterdeck.attest.public_area import parse_sized_public
from quarterdeck.kit import http, json
from quarterdeck.services.bootstrap.authority import issue_identity
from quarterdeck.services.bootstrap.challenges import MAX_OPEN
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.drivers.authority import SecretAuthority
from quarterdeck.services.bootstrap.drivers.claims import KubeClaims
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.services.bootstrap.limiter import Limits

IS_FULL = os.environ.get("QUARTERDECK_FULL") == "1"
FLOOD = 10_000 if IS_FULL else 400
HOUR = timedelta(hours=1)


@pytest.fixture(scope="module")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


@pytest.fixture
def other_tpm(tmp_path: Path) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path / "other") as running:
        yield running


async def test_token_for_another_audience_issues_nothing() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        foreign = await world.request_token("operator", "https://vault.example")
        answer = await replica.call("POST", TOKENS, {"claim": name_of(claim)}, token=foreign)
        assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
        await world.issue(replica, claim)


@pytest.mark.parametrize(
    "identity",
    [
        "spiffe://another.example/vm/default/web-1/{uid}",
        "spiffe://hyperfleet.io/controller/default/web-1/{uid}",
        "https://hyperfleet.io/vm/default/web-1/{uid}",
    ],
)
async def test_certificate_of_another_identity_is_no_machine(
    identity: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        await join(world, replica)
        uid = (await world.read_claim("web-1")).metadata.uid
        issuer = Issuer(SecretAuthority(world.client, "quarterdeck-system"), clock=world.clock)
        state, stranger = await issuer.open_authority(), Machine()
        issued = issue_identity(
            state,
            stranger.csr.encode(),
            identity.format(uid=uid),
            now=world.clock.now(),
            lifetime=HOUR,
        )
        stranger.certificate = (issued.certificate + b"".join(issued.chain)).decode()
        answer = await replica.call("POST", BEAT, {}, machine=stranger)
        assert (answer.status, answer.body["code"]) == (401, "unauthenticated")
        assert last_reason(caplog) == "WrongIdentity"


async def test_clock_that_jumps_back_revives_no_token_for_another_key() -> None:
    async with bootstrap_world() as world:
        replica, claim, machine = (
            await world.start_replica(),
            await world.add_claim("web-1"),
            Machine(),
        )
        body = {"token": await world.issue(replica, claim), "csr": machine.csr}
        assert (await replica.call("POST", JOIN, body)).status == 200
        for hours in (-24, -1, 1, 24 * 365):
            world.clock.jump = timedelta(hours=hours)
            other = {**body, "csr": Machine().csr}
            assert (await replica.call("POST", JOIN, other)).status == 401, hours


async def test_clock_that_jumps_ahead_ends_tokens_and_certificates_while_it_is_wrong() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine, claim = await join(world, replica), await world.add_claim("web-2")
        token = await world.issue(replica, claim)
        world.clock.jump = timedelta(hours=2)
        body = {"token": token, "csr": Machine().csr}
        assert (await replica.call("POST", JOIN, body)).status == 401
        assert (await replica.call("POST", BEAT, {}, machine=machine)).status == 401
        renewal = await replica.call("POST", RENEW, {"csr": machine.csr}, machine=machine)
        assert renewal.status == 401
        world.clock.jump = timedelta()
        assert (await replica.call("POST", BEAT, {}, machine=machine)).status == 200
        assert (await replica.call("POST", JOIN, body)).status == 200


async def test_time_of_day_does_not_lengthen_challenges(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim, csr = await world.add_claim("vm", "tpm", tpm=MAKER), Machine().csr
        asked = await replica.call("POST", CHALLENGE, build_request(tpm, claim, csr))
        answer = solve(tpm, asked.body, csr)
        world.clock.jump = -HOUR
        world.clock.shift += timedelta(seconds=61)
        assert (await replica.call("POST", VERIFY, answer)).status == 401
        assert last_reason(caplog) == "Expired"


async def test_endorsement_key_in_software_is_refused(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "swtpm-localca")])
    now = datetime.now(UTC)
    own = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - HOUR)
        .not_valid_after(now + HOUR)
        .sign(key, hashes.SHA256())
    )
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim = await world.add_claim("vm", "tpm", tpm=MAKER)
        request = build_request(tpm, claim, Machine().csr)
        area = bytearray(tpm.endorse()[0][2:])
        area[-256:] = key.public_key().public_numbers().n.to_bytes(256, "big")
        certificates = {
            "own": encode(own.public_bytes(Encoding.DER)),
            "of another TPM": request["ekCertificate"],
            "none": "",
        }
        for certificate in certificates.values():
            forged = {**request, "ekPublic": encode(bytes(area)), "ekCertificate": certificate}
            answer = await replica.call("POST", CHALLENGE, forged)
            assert (answer.status, answer.body["code"]) == (401, "attestation_failed")
            assert last_reason(caplog) == "UntrustedTpm"


async def test_copied_tpm_races_on_two_replicas_and_at_most_one_claim_gets_it(
    tpm: SoftwareTpm,
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replicas = [await world.start_replica() for _ in range(2)]
        claims = [await world.add_claim(f"vm-{at}", "tpm", tpm=MAKER) for at in range(2)]
        csr = Machine().csr
        answers = []
        for replica, claim in zip(replicas, claims, strict=True):
            asked = await replica.call("POST", CHALLENGE, build_request(tpm, claim, csr))
            assert asked.status == 200, "nobody has the TPM yet"
            answers.append(solve(tpm, asked.body, csr))
        tries = [
            replica.call("POST", VERIFY, answer)
            for replica, answer in zip(replicas, answers, strict=True)
        ]
        statuses = [each.status for each in await asyncio.gather(*tries)]
        assert statuses.count(200) <= 1
        bound = [(await world.read_claim(f"vm-{at}")).status.attestation for at in range(2)]
        assert sum(each is not None for each in bound) == statuses.count(200)


async def test_two_tpms_race_for_one_claim_and_one_of_them_gets_it(
    tpm: SoftwareTpm, other_tpm: SoftwareTpm, monkeypatch: pytest.MonkeyPatch
) -> None:
    tpms = (tpm, other_tpm)
    known = [hash_key(parse_sized_public(each.endorse()[0]).key) for each in tpms]
    async with bootstrap_world() as world:
        replicas = [await world.start_replica() for _ in tpms]
        policy = {"ekHashes": known, "requireEKCert": False}
        claim, answers = await world.add_claim("vm", "tpm", tpm=policy), []
        csr = Machine().csr
        for replica, each in zip(replicas, tpms, strict=True):
            request = build_request(each, claim, csr) | {"ekCertificate": ""}
            asked = await replica.call("POST", CHALLENGE, request)
            assert asked.status == 200, asked
            answers.append(solve(each, asked.body, csr))
        find, both = KubeClaims.find_endorsed, asyncio.Barrier(2)
        waits = [True, True]

        async def find_together(claims: KubeClaims, endorsement: str) -> tuple[Claim, ...]:
            found = await find(claims, endorsement)
            if waits and waits.pop():
                await both.wait()  # neither has recorded its TPM yet
            return found

        monkeypatch.setattr(KubeClaims, "find_endorsed", find_together)
        tries = [
            replica.call("POST", VERIFY, answer)
            for replica, answer in zip(replicas, answers, strict=True)
        ]
        statuses = [each.status for each in await asyncio.gather(*tries)]
        assert sorted(statuses) == [200, 401]
        bound = (await world.read_claim("vm")).status.attestation
        assert bound is not None
        assert bound.ek_hash == known[statuses.index(200)]


async def test_other_boot_of_the_same_machine_is_refused_after_the_first(
    tpm: SoftwareTpm, caplog: pytest.LogCaptureFixture
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica()
        claim = await world.add_claim("vm", "tpm", tpm=MAKER)
        for _ in range(2):
            assert (await attest(replica, tpm, claim, Machine().csr)).status == 200
        tpm.run("tpm2_pcrextend", "7:sha256=" + "11" * 32)
        assert (await attest(replica, tpm, claim, Machine().csr)).status == 401
        assert last_reason(caplog) == "InvalidQuote"
        refusal = (await world.read_claim("vm")).status.attestation_refusal
        assert refusal is not None
        assert "booted differently" in refusal.message


def make_bad_request(rng: random.Random) -> tuple[str, bytes]:
    """A request that nobody may be granted."""
    csr = "-----BEGIN CERTIFICATE REQUEST-----\n"
    token = f"hf1.{''.join(rng.choices('abcdefgh234567', k=12))}.{'A' * 43}"
    kinds: list[tuple[str, Any]] = [
        (JOIN, {"token": token, "csr": csr}),
        (JOIN, {"token": "x" * rng.randrange(300), "csr": csr}),
        (JOIN, "nonsense"),
        (CHALLENGE, {"claimUid": token, "ekPublic": "", "akPublic": "", "csr": csr}),
        (VERIFY, {"sessionId": token, "secret": "", "quote": "", "signature": "", "pcrs": {}}),
        (RENEW, {"csr": csr}),
        (BEAT, {}),
        (TOKENS, {"claim": {"namespace": "default", "name": "web-1", "uid": "u"}}),
    ]
    path, body = rng.choice(kinds)
    return path, json.encode(body)


async def flood(replica: Replica, count: int) -> list[int]:
    """Send bad requests at the same time; their answers."""
    rng = random.Random(7)
    requests = [make_bad_request(rng) for _ in range(count)]
    async with contextlib.aclosing(
        http.Client(tls=replica.build_context(None), pool=100, read_timeout_s=None)
    ) as client:

        async def send(path: str, body: bytes) -> int:
            async with await client.request("POST", replica.url + path, body=body) as answer:
                await answer.read(4096)
                return answer.status

        return await asyncio.gather(*(send(path, body) for path, body in requests))


async def test_flood_of_bad_requests_is_refused_and_the_service_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(Limits()), await world.add_claim("web-1")
        statuses = await flood(replica, FLOOD)
        assert set(statuses) <= {400, 401, 429}
        assert 429 in statuses
        logged = [each for each in reasons(caplog) if each]
        assert len(logged) <= FLOOD
        assert logged.count("Limited") == statuses.count(429)
        assert len(replica.service.challenges) <= MAX_OPEN
        world.clock.shift += timedelta(minutes=1)
        machine = Machine()
        body = {"token": await world.issue(replica, claim), "csr": machine.csr}
        assert (await replica.call("POST", JOIN, body)).status == 200


async def test_running_listener_takes_over_a_rotated_intermediate() -> None:
    async with bootstrap_world() as world:
        world.clock.shift = -timedelta(hours=12, minutes=1)
        replica = await world.start_replica()
        issuer = Issuer(SecretAuthority(world.client, "quarterdeck-system"), clock=world.clock)
        state, shown = await issuer.open_authority(), await read_server_certificate(replica)
        assert not await replica.tls.refresh(), "half of its life is not over yet"
        world.clock.shift = timedelta()
        assert await replica.tls.refresh()
        assert await read_server_certificate(replica) != shown
        await join(world, replica)
        claim, machine = await world.read_claim("web-1"), Machine()
        identity = f"spiffe://hyperfleet.io/vm/default/web-1/{claim.metadata.uid}"
        now = world.clock.now()
        issued = issue_identity(state, machine.csr.encode(), identity, now=now, lifetime=HOUR)
        machine.certificate = (issued.certificate + b"".join(issued.chain)).decode()
        beat = await replica.call("POST", BEAT, {}, machine=machine)
        assert beat.status == 200, "certificates of the intermediate before are still accepted"


async def read_server_certificate(replica: Replica) -> bytes:
    """The certificate that new connections are shown."""
    context = replica.build_context(None)
    host, port = replica.url.removeprefix("https://").split(":")
    _, writer = await asyncio.open_connection(host, int(port), ssl=context)
    try:
        shown: bytes = writer.get_extra_info("ssl_object").getpeercert(True)
        return shown
    finally:
        writer.close()
        with contextlib.suppress(ConnectionError):
            await writer.wait_closed()
