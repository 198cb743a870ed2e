"""The authority of machines: short-lived identities, an intermediate replaced in time."""

from datetime import UTC, datetime, timedelta

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from quarterdeck.services.bootstrap.authority import (
    INTERMEDIATE_LIFETIME,
    AuthorityState,
    InvalidRequest,
    Issued,
    build_bundle,
    create_authority,
    issue_identity,
    read_spiffe_id,
    rotate_authority,
)

NOW = datetime(2026, 11, 15, tzinfo=UTC)
ID = "spiffe://hyperfleet.io/vm/default/web-1/uid"
HOUR = timedelta(hours=1)
KEY = ec.generate_private_key(ec.SECP256R1())


def request(
    key: ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey = KEY, name: str = "admin"
) -> bytes:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    return builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)


def issue(state: AuthorityState, *, now: datetime = NOW, lifetime: timedelta = HOUR) -> Issued:
    return issue_identity(state, request(), ID, now=now, lifetime=lifetime)


def test_identity_is_the_spiffe_id_and_nothing_else() -> None:
    state = create_authority("hyperfleet.io", NOW)
    issued = issue(state)
    leaf = x509.load_pem_x509_certificate(issued.certificate)
    assert read_spiffe_id(leaf.public_bytes(Encoding.DER)) == ID
    assert len(list(leaf.subject)) == 0, "the subject of the request is not believed"
    assert leaf.public_key() == KEY.public_key()
    assert issued.renew_after == NOW + HOUR / 2


def test_nothing_lives_longer_than_an_hour_or_its_signer() -> None:
    state = create_authority("hyperfleet.io", NOW)
    assert issue(state, lifetime=timedelta(days=9)).not_after == NOW + HOUR
    late = NOW + INTERMEDIATE_LIFETIME - timedelta(minutes=5)
    assert issue(state, now=late).not_after == NOW + INTERMEDIATE_LIFETIME


def test_rotation_keeps_what_was_signed_before_valid() -> None:
    state = create_authority("hyperfleet.io", NOW)
    assert rotate_authority(state, "hyperfleet.io", NOW + timedelta(hours=11)) is state
    later = NOW + timedelta(hours=12, minutes=1)
    before = issue(state, now=later)
    rotated = rotate_authority(state, "hyperfleet.io", later)
    assert rotated.current != state.current
    after = issue(rotated, now=later)
    for each in (before, after):
        assert each.chain
        verify_chain(each, rotated, later)


def test_intermediate_made_while_the_clock_was_ahead_is_replaced_when_it_is_set_back() -> None:
    state = create_authority("hyperfleet.io", NOW)
    ahead = rotate_authority(state, "hyperfleet.io", NOW + timedelta(hours=13))
    back = NOW + timedelta(hours=1)
    rotated = rotate_authority(ahead, "hyperfleet.io", back)
    verify_chain(issue(rotated, now=back), rotated, back)
    assert rotate_authority(rotated, "hyperfleet.io", back) is rotated


def verify_chain(issued: Issued, state: AuthorityState, now: datetime) -> None:
    leaf = x509.load_pem_x509_certificate(issued.certificate)
    middle = x509.load_pem_x509_certificate(issued.chain[0])
    root = x509.load_pem_x509_certificate(build_bundle(state)[0])
    leaf.verify_directly_issued_by(middle)
    middle.verify_directly_issued_by(root)
    for each in (leaf, middle, root):
        assert each.not_valid_before_utc <= now <= each.not_valid_after_utc


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(b"nonsense", "not PEM", id="nonsense"),
        pytest.param(request(rsa.generate_private_key(65537, 2048)), "P-256", id="RSA"),
        pytest.param(request(ec.generate_private_key(ec.SECP384R1())), "P-256", id="other curve"),
    ],
)
def test_requests_that_cannot_be_signed_are_refused(text: bytes, message: str) -> None:
    state = create_authority("hyperfleet.io", NOW)
    with pytest.raises(InvalidRequest, match=message):
        issue_identity(state, text, ID, now=NOW, lifetime=HOUR)


def test_request_signed_by_another_key_is_refused() -> None:
    good = x509.load_pem_x509_csr(request())
    der = bytearray(good.public_bytes(Encoding.DER))
    der[-1] ^= 1
    try:
        forged = x509.load_der_x509_csr(bytes(der)).public_bytes(Encoding.PEM)
    except ValueError:
        pytest.skip("the changed byte broke the encoding of the signature")
    state = create_authority("hyperfleet.io", NOW)
    with pytest.raises(InvalidRequest, match="own key"):
        issue_identity(state, forged, ID, now=NOW, lifetime=HOUR)


def test_certificates_without_one_spiffe_id_name_nobody() -> None:
    root = x509.load_pem_x509_certificate(create_authority("x", NOW).root.certificate)
    assert read_spiffe_id(root.public_bytes(Encoding.DER)) == ""
    assert read_spiffe_id(b"nonsense") == ""
