"""Attestation: what judging a proof costs beside the signatures in it, and agents that beat.

The peer is the same cryptography without a service around it: the signature checks that the proof
contains, on keys and certificates that are parsed already.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta

from bench.process import Child
from bench.series import Figures, Missed, Runs, Series, case
from bench.suite import OURS, Case, Contenders, Measure, Scale, Suite
from bench.timing import per_call_us
from bench.workloads.tpm_proofs import NONCE, NOW, PCRS, make_proof, make_request

BARE = "bare signature checks"
_MOST_PERCENT = 5.0


def cases(scale: Scale) -> Sequence[Case]:
    agents, seconds = scale.pick((50, 3), (1_000, 90), (1_000, 150))
    series = Series(
        lambda: _heartbeats(agents, seconds), rounds=scale.pick(1, 1, 3), warms_up=False
    )
    return [
        Case(
            name="proof by join token judged",
            unit="a second on one core",
            open=lambda _: _judge_token(),
            is_more_better=True,
            note="token, its record and the certificate request; the request has one signature",
        ),
        Case(
            name="proof by TPM judged",
            unit="a second on one core",
            open=lambda _: _judge_tpm(),
            is_more_better=True,
            note="endorsement certificate with a path of two, attestation key, quote, PCRs and "
            "certificate request; four signatures, RSA-2048 and one P-256",
        ),
        case(
            series,
            f"{agents:,} agents that beat every 15 s",
            "% of a core",
            "core_%",
            note="processor time of the bootstrap service alone, each agent written down once a "
            "minute; must stay below 5",
        ),
        case(series, "one heartbeat", "CPU µs", "beat_us"),
    ]


def _rate(function: Callable[[], object]) -> Measure:
    return lambda: 1e6 / per_call_us(function)


@contextmanager
def _judge_token() -> Iterator[Contenders]:
    from cryptography import x509

    from quarterdeck.attest.join_token import generate_token, parse_token
    from quarterdeck.services.bootstrap.claim import Claim
    from quarterdeck.services.bootstrap.issuer import hash_request_key
    from quarterdeck.services.bootstrap.token_record import check_token, record_token

    token, csr = generate_token(), make_request()
    claim = Claim(namespace="default", name="m", uid="u")
    record = record_token(token, claim, now=NOW, lifetime=timedelta(hours=1))
    text = token.reveal()
    parsed = x509.load_pem_x509_csr(csr)

    def judge() -> None:
        presented = parse_token(text)
        key_hash = hash_request_key(csr)
        if not check_token(record, presented, key_hash=key_hash, address="10.0.0.7", now=NOW):
            raise Missed("the token was not accepted")

    def check() -> None:
        if not parsed.is_signature_valid:
            raise Missed("the signature does not hold")

    yield {OURS: _rate(judge), BARE: _rate(check)}


@contextmanager
def _judge_tpm() -> Iterator[Contenders]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import padding

    from quarterdeck.attest.endorsement import check_endorsement
    from quarterdeck.attest.pcr_policy import PcrPolicy, check_pcrs
    from quarterdeck.attest.public_area import (
        check_attestation_key,
        parse_public,
        parse_sized_public,
    )
    from quarterdeck.attest.quote import bind_nonce, verify_quote
    from quarterdeck.services.bootstrap.issuer import hash_request_key

    proof = make_proof()
    parsed = x509.load_pem_x509_csr(proof.csr)
    policy = PcrPolicy(mode="exact", values={index: (value,) for index, value in PCRS.items()})

    def judge() -> None:
        hash_request_key(proof.csr)
        endorsement = parse_public(proof.endorsement)
        check_endorsement(proof.policy, endorsement, proof.certificate, now=NOW)
        area = parse_sized_public(proof.attestation)
        check_attestation_key(area)
        nonce = bind_nonce(NONCE, proof.csr)
        required = frozenset(PCRS)
        verify_quote(
            proof.quote, proof.signature, area.key, nonce=nonce, pcrs=PCRS, required=required
        )
        check_pcrs(policy, PCRS)

    def check() -> None:
        leaf, maker, root = proof.path
        leaf.verify_directly_issued_by(maker)
        maker.verify_directly_issued_by(root)
        proof.key.verify(proof.raw_signature, proof.quote, padding.PKCS1v15(), hashes.SHA256())
        if not parsed.is_signature_valid:
            raise Missed("the signature does not hold")

    yield {OURS: _rate(judge), BARE: _rate(check)}


@contextmanager
def _heartbeats(agents: int, seconds: int) -> Iterator[Runs]:
    def run(figures: Figures) -> None:
        with Child(["-m", "bench.peers.heartbeats", str(agents), str(seconds)]) as process:
            line = process.line()
        if not line:
            raise Missed("the run ended without figures")
        figures.update(json.loads(line))
        if figures["core_%"] > _MOST_PERCENT:
            raise Missed(f"{figures['core_%']:.1f} % of a core is more than {_MOST_PERCENT:.0f} %")

    yield {OURS: run}


SUITE = Suite(
    name="bootstrap",
    title="Attestation of machines",
    cases=cases,
    versions=("cryptography",),
    is_process=True,
)
