"""The whole exchange with a TPM in software: what it opens, what it refuses, what it signs."""

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from cryptography import x509
from software_tpm import ECC_EK_HANDLE, PCRS, SoftwareTpm, software_tpm

from quarterdeck.attest.credential import make_credential
from quarterdeck.attest.endorsement import EndorsementPolicy, check_endorsement
from quarterdeck.attest.errors import InvalidQuote
from quarterdeck.attest.public_area import check_attestation_key, parse_sized_public
from quarterdeck.attest.quote import bind_nonce, verify_quote

SECRET = bytes(range(32))


@pytest.fixture(scope="module")
def tpm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SoftwareTpm]:
    with software_tpm(tmp_path_factory.mktemp("tpm")) as running:
        yield running


def read_certificate(path: Path) -> x509.Certificate:
    return x509.load_pem_x509_certificate(path.read_bytes())


def test_certificate_of_its_maker_is_accepted(tpm: SoftwareTpm) -> None:
    public, certificate = tpm.endorse()
    authority = tpm.folder / "ca"
    policy = EndorsementPolicy(
        roots=(read_certificate(authority / "swtpm-localca-rootca-cert.pem"),),
        intermediates=(read_certificate(authority / "issuercert.pem"),),
        requires_certificate=True,
    )
    area = parse_sized_public(public)
    assert len(check_endorsement(policy, area, certificate, now=datetime.now(UTC))) == 64


@pytest.mark.parametrize("algorithm", ["rsa", "ecc"])
def test_tpm_opens_what_is_for_it_and_quotes(tpm: SoftwareTpm, algorithm: str) -> None:
    endorsement = parse_sized_public(tpm.endorse()[0])
    key = parse_sized_public(tpm.create_attestation_key(algorithm=algorithm))
    check_attestation_key(key)
    credential = make_credential(endorsement, key.name, SECRET)
    assert tpm.activate(credential.to_tool_file()) == SECRET
    nonce = bind_nonce(b"challenge", b"certificate request")
    message, signature, pcrs = tpm.quote(nonce)
    quote = verify_quote(
        message, signature, key.key, nonce=nonce, pcrs=pcrs, required=frozenset(PCRS)
    )
    assert quote.selected == PCRS
    with pytest.raises(InvalidQuote, match="does not match the challenge"):
        verify_quote(
            message,
            signature,
            key.key,
            nonce=bind_nonce(b"challenge", b"another request"),
            pcrs=pcrs,
            required=frozenset(PCRS),
        )


def test_tpm_opens_what_is_for_its_endorsement_key_of_elliptic_curves(tpm: SoftwareTpm) -> None:
    endorsement = parse_sized_public(tpm.create_ecc_endorsement_key())
    key = parse_sized_public(tpm.create_attestation_key())
    credential = make_credential(endorsement, key.name, SECRET)
    assert tpm.activate(credential.to_tool_file(), endorsement=ECC_EK_HANDLE) == SECRET


def test_credential_for_another_key_stays_closed(tpm: SoftwareTpm) -> None:
    endorsement = parse_sized_public(tpm.endorse()[0])
    tpm.create_attestation_key("one")
    other = parse_sized_public(tpm.create_attestation_key("two"))
    credential = make_credential(endorsement, other.name, SECRET)
    with pytest.raises(AssertionError, match="tpm2_activatecredential"):
        tpm.activate(credential.to_tool_file(), "one")
