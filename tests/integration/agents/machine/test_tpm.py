"""The agent's side of an attestation by TPM, with both kinds of endorsement keys."""

import base64
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from bootstrap_world import NAMESPACE, bootstrap_world
from software_tpm import SoftwareTpm, software_tpm
from tests.integration.agents.machine.test_agent import agent, trust_maker

from quarterdeck.agents.machine.tpm import ECC, RSA, Family, Tpm
from quarterdeck.attest.credential import make_credential
from quarterdeck.attest.public_area import (
    Attribute,
    check_attestation_key,
    parse_public,
    parse_sized_public,
)

SECRET = b"a secret of the service, 32 byte"


@pytest.fixture(scope="module")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


@pytest.mark.parametrize("family", [RSA, ECC], ids=lambda each: each.name)
def test_challenge_is_opened_with_either_endorsement_key(tpm: SoftwareTpm, family: Family) -> None:
    own = Tpm(tpm.tcti, family)
    request = own.describe("uid", "csr")
    endorsement = parse_public(base64.b64decode(request["ekPublic"]))
    key = parse_sized_public(base64.b64decode(request["akPublic"]))
    check_attestation_key(key)
    assert key.attributes & Attribute.NO_DA, "power failures must not lock the TPM"
    assert request["ekCertificate"]
    credential = make_credential(endorsement, key.name, SECRET)
    challenge = {
        "sessionId": "one",
        "credentialBlob": base64.b64encode(credential.blob).decode(),
        "encryptedSecret": base64.b64encode(credential.encrypted_secret).decode(),
        "nonce": base64.b64encode(b"nonce").decode(),
        "pcrSelection": {"sha256": [0, 7]},
    }
    answer = own.answer_challenge(challenge, "csr")
    assert base64.b64decode(answer["secret"]) == SECRET
    assert set(answer["pcrs"]) == {"0", "7"}
    own.close()


async def test_method_with_both_proofs_needs_the_token_too(
    tmp_path: Path, tpm: SoftwareTpm
) -> None:
    async with bootstrap_world() as world:
        await trust_maker(world, tpm)
        replica = await world.start_replica(heartbeat_s=0.2)
        rules = {"trustedCARefs": [{"name": "tpm-maker", "namespace": NAMESPACE}]}
        claim = await world.add_claim("vm", "tpm+token", tpm=rules)
        other = await world.add_claim("other", "tpm+token", tpm=rules)
        world.clock.shift = timedelta()
        tokens = {
            "none": "",
            "of another claim": await world.issue(replica, other),
            "own": await world.issue(replica, claim),
        }
        options = ("--tcti", tpm.tcti)
        for name, token in tokens.items():
            folder = tmp_path / name.replace(" ", "-")
            folder.mkdir()
            settings = {"method": "tpm+token", "token": token}
            async with agent(folder, replica, claim, *options, **settings) as running:
                wanted = "reported Ready" if name == "own" else "refused by the bootstrap service"
                await running.wait_for(wanted)
        recorded = (await world.read_claim("vm")).status.attestation
        assert recorded is not None
        assert recorded.method == "tpm+token"
        body = {"token": tokens["own"], "csr": "", "claimUid": claim.metadata.uid}
        answer = await replica.call("POST", "/v1/attest/join-token", body)
        assert answer.status == 401, "the token alone is worth nothing"
