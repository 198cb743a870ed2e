"""A method of another package: found by its entry point, served like the others."""

import base64
import hashlib
import secrets
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from typing import Any

import pytest
from bootstrap_world import Machine, bootstrap_world
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from tests.integration.services.bootstrap.test_tpm import last_reason

from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.methods import (
    GROUP,
    AttestationChallenge,
    AttestationFailed,
    AttestationMethod,
    AttestationResult,
    load_methods,
)

KEY = Ed25519PrivateKey.generate()
"""A key that every machine of some maker has in its firmware."""


class Firmware:
    """Machines sign a nonce and the digest of their request with the key of their maker."""

    async def begin(
        self, claim: Claim, evidence: Mapping[str, Any], request_hash: bytes
    ) -> AttestationChallenge:
        if evidence.get("maker") != "acme":
            raise AttestationFailed(f"maker {evidence.get('maker')!r} is unknown")
        nonce = secrets.token_bytes(16)
        return AttestationChallenge(payload={"nonce": nonce.hex()}, state=nonce)

    async def finish(
        self,
        claim: Claim,
        challenge: AttestationChallenge,
        evidence: Mapping[str, Any],
        request_hash: bytes,
    ) -> AttestationResult:
        try:
            signature = base64.b64decode(str(evidence.get("signature", "")))
            KEY.public_key().verify(signature, challenge.state + request_hash)
        except (InvalidSignature, ValueError) as error:
            raise AttestationFailed("the signature is not the maker's") from error
        return AttestationResult(selectors=("firmware:maker:acme",))


class Broken:
    """A method whose package is damaged."""

    def __init__(self) -> None:
        raise RuntimeError("no license")


def sign(nonce: str, csr: str) -> dict[str, str]:
    signed = KEY.sign(bytes.fromhex(nonce) + hashlib.sha256(csr.encode()).digest())
    return {"signature": base64.b64encode(signed).decode()}


def load(**values: str) -> tuple[dict[str, AttestationMethod], dict[str, str]]:
    found = [EntryPoint(name, f"{__name__}:{value}", GROUP) for name, value in values.items()]
    problems: dict[str, str] = {}
    return load_methods(found, warn=problems.__setitem__), problems


def test_methods_are_found_and_broken_ones_are_named() -> None:
    methods, problems = load(firmware="Firmware", tpm="Firmware", broken="Broken", gone="Gone")
    assert list(methods) == ["firmware"]
    assert "the name is taken" in problems["tpm"]
    assert "no license" in problems["broken"]
    assert "cannot be loaded" in problems["gone"]


async def test_machine_is_attested_by_a_method_of_another_package(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bootstrap_world() as world:
        world.methods = load(firmware="Firmware")[0]
        replica = await world.start_replica()
        claim, machine = await world.add_claim("vm", "firmware"), Machine()
        first = {"claimUid": claim.metadata.uid, "csr": machine.csr, "evidence": {"maker": "acme"}}

        async def ask() -> dict[str, Any]:
            asked = await replica.call("POST", "/v1/attest/firmware/challenge", first)
            assert asked.status == 200, asked
            return asked.body

        async def answer(session: str, evidence: object) -> int:
            body = {"sessionId": session, "evidence": evidence}
            return (await replica.call("POST", "/v1/attest/firmware/verify", body)).status

        stolen = await ask()
        swapped = sign(stolen["challenge"]["nonce"], Machine().csr)
        assert await answer(stolen["sessionId"], swapped) == 401
        assert last_reason(caplog) == "WrongAnswer"
        asked = await ask()
        good = sign(asked["challenge"]["nonce"], machine.csr)
        body = {"sessionId": asked["sessionId"], "evidence": good}
        granted = await replica.call("POST", "/v1/attest/firmware/verify", body)
        assert granted.status == 200
        assert "firmware:maker:acme" in granted.body["selectors"]
        assert await answer(asked["sessionId"], good) == 401
        assert last_reason(caplog) == "UnknownSession"
        recorded = (await world.read_claim("vm")).status.attestation
        assert recorded is not None
        assert recorded.method == "firmware"


async def test_unknown_makers_claims_and_methods_are_refused() -> None:
    async with bootstrap_world() as world:
        world.methods = load(firmware="Firmware")[0]
        replica = await world.start_replica()
        own, other = await world.add_claim("vm", "firmware"), await world.add_claim("other")
        path = "/v1/attest/firmware/challenge"
        body = {"claimUid": own.metadata.uid, "csr": Machine().csr, "evidence": {}}
        refused = await replica.call("POST", path, body)
        assert (refused.status, refused.body["code"]) == (401, "attestation_failed")
        wrong = {**body, "claimUid": other.metadata.uid, "evidence": {"maker": "acme"}}
        assert (await replica.call("POST", path, wrong)).status == 401
        assert (await replica.call("POST", "/v1/attest/magic/challenge", body)).status == 404
        assert (await replica.call("POST", "/v1/attest/firmware/other", body)).status == 404


async def test_peer_that_fails_too_often_is_not_asked_again_and_others_are() -> None:
    async with bootstrap_world() as world:
        world.methods = load(firmware="Firmware")[0]
        replica, claim = await world.start_replica(), await world.add_claim("vm", "firmware")
        path = "/v1/attest/firmware/challenge"
        wrong = {"claimUid": claim.metadata.uid, "csr": Machine().csr, "evidence": {}}
        right = {**wrong, "evidence": {"maker": "acme"}}
        tries = [await replica.call_from("198.51.100.7", path, wrong) for _ in range(5)]
        assert {each.status for each in tries} == {401}
        assert (await replica.call_from("198.51.100.7", path, right)).status == 429
        assert (await replica.call_from("198.51.100.8", path, right)).status == 200
