"""Join tokens over TLS: who may issue them, who may use them, how often, and what is logged."""

import asyncio
import base64
import logging
from datetime import timedelta

import pytest
from bootstrap_world import NAMESPACE, Machine, bootstrap_world, name_of
from cryptography import x509

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.kit import http
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.services.bootstrap.drivers.tokens import SECRET_TYPE, SecretTokens
from quarterdeck.services.bootstrap.limiter import Limits

JOIN = "/v1/attest/join-token"
TOKENS = "/v1/join-tokens"


def reasons(caplog: pytest.LogCaptureFixture) -> list[str]:
    """Reasons in the audit log, in order."""
    found = [getattr(each, "fields", {}) for each in caplog.records]
    return [str(each["reason"]) for each in found if "reason" in each]


async def test_token_becomes_a_certificate_for_the_claim() -> None:
    async with bootstrap_world() as world:
        replica, claim, machine = (
            await world.start_replica(),
            await world.add_claim("web-1"),
            Machine(),
        )
        token = await world.issue(replica, claim)
        answer = await replica.call("POST", JOIN, {"token": token, "csr": machine.csr})
        assert answer.status == 200
        uid = claim.metadata.uid
        assert answer.body["spiffeId"] == f"spiffe://hyperfleet.io/vm/default/web-1/{uid}"
        assert "hyperfleet:machine-claim:web-1" in answer.body["selectors"]
        recorded = (await world.read_claim("web-1")).status.attestation
        assert recorded is not None
        certificate = x509.load_pem_x509_certificate(answer.body["certificate"].encode())
        assert recorded.cert_serial == f"{certificate.serial_number:x}"
        assert recorded.method == "join-token"


async def test_only_the_operator_gets_tokens() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        body = {"claim": name_of(claim)}
        assert (await replica.call("POST", TOKENS, body)).status == 401
        assert (await replica.call("POST", TOKENS, body, token="forged")).status == 401
        assert (await replica.call("POST", TOKENS, body, token=world.stranger_token)).status == 403
        assert (await replica.call("GET", "/metrics", token=world.stranger_token)).status == 403
        wrong = {"claim": {**name_of(claim), "uid": "another"}}
        assert (await replica.call("POST", TOKENS, wrong, token=world.operator_token)).status == 404


async def test_claim_has_one_live_token() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        first = await world.issue(replica, claim)
        again = await replica.call(
            "POST", TOKENS, {"claim": name_of(claim)}, token=world.operator_token
        )
        assert (again.status, again.body["code"]) == (409, "conflict")
        second = await world.issue(replica, claim, rotate=True)
        refused = await replica.call("POST", JOIN, {"token": first, "csr": Machine().csr})
        assert refused.status == 401
        identity = second.split(".")[1]
        gone = await replica.call("DELETE", f"{TOKENS}/{identity}", token=world.operator_token)
        assert gone.status == 204
        assert (
            await replica.call("POST", JOIN, {"token": second, "csr": Machine().csr})
        ).status == 401


async def test_lost_answer_is_repeated_to_the_same_key_only() -> None:
    async with bootstrap_world() as world:
        replica, claim, machine = (
            await world.start_replica(),
            await world.add_claim("web-1"),
            Machine(),
        )
        body = {"token": await world.issue(replica, claim), "csr": machine.csr}
        first = await replica.call("POST", JOIN, body)
        assert await replica.call("POST", JOIN, body) == first
        assert (await replica.call("POST", JOIN, {**body, "csr": Machine().csr})).status == 401
        world.clock.shift += timedelta(seconds=121)
        assert (await replica.call("POST", JOIN, body)).status == 401


async def test_refusals_look_alike_and_the_audit_log_is_exact(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with bootstrap_world() as world:
        caplog.set_level(logging.INFO)
        replica = await world.start_replica()
        used, expired, bound, tpm, leaving = [
            await world.add_claim(f"claim-{at}", "tpm" if at == 3 else "join-token")
            for at in range(5)
        ]
        csr = Machine().csr
        tokens = {
            "used": await world.issue(replica, used),
            "expired": await world.issue(replica, expired, ttlSeconds=60),
            "bound": await world.issue(replica, bound, boundIP="10.9.9.9"),
            "tpm": await world.issue(replica, tpm),
            "leaving": await world.issue(replica, leaving),
        }
        await replica.call("POST", JOIN, {"token": tokens["used"], "csr": Machine().csr})
        await world.set_phase("claim-4", "Draining")
        forged = tokens["used"][:-1] + ("A" if tokens["used"][-1] != "A" else "E")
        tries = [
            ("WrongSecret", forged),
            ("UnknownToken", "hf1.aaaaaaaaaaaa." + "A" * 43),
            ("Reused", tokens["used"]),
            ("WrongPlace", tokens["bound"]),
            ("WrongMethod", tokens["tpm"]),
            ("ClaimGone", tokens["leaving"]),
            ("Malformed", "no token"),
        ]
        answers = [
            await replica.call("POST", JOIN, {"token": each, "csr": csr}) for _, each in tries
        ]
        world.clock.shift += timedelta(seconds=61)
        answers.append(await replica.call("POST", JOIN, {"token": tokens["expired"], "csr": csr}))
        assert {answer.status for answer in answers} == {401}
        bodies = [{**answer.body, "requestId": ""} for answer in answers]
        assert all(body == bodies[0] for body in bodies)
        assert set(bodies[0]) == {"code", "message", "requestId"}
        assert reasons(caplog) == [reason for reason, _ in tries] + ["Expired"]
        lines = "\n".join(f"{each.getMessage()} {each.__dict__}" for each in caplog.records)
        for token in (*tokens.values(), forged):
            assert token.split(".")[2] not in lines


async def test_one_of_two_replicas_wins_the_race_for_a_token() -> None:
    async with bootstrap_world() as world:
        replicas = [await world.start_replica() for _ in range(2)]
        claim = await world.add_claim("web-1")
        token = await world.issue(replicas[0], claim)
        tries = [
            replicas[at % 2].call("POST", JOIN, {"token": token, "csr": Machine().csr})
            for at in range(8)
        ]
        statuses = [answer.status for answer in await asyncio.gather(*tries)]
        assert sorted(statuses) == [200] + [401] * 7


async def test_stored_token_is_a_hash() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token = await world.issue(replica, claim)
        secret = await world.client.get(Secret, f"join-token-{token.split('.')[1]}", NAMESPACE)
        assert secret.type == "hyperfleet.io/join-token"
        stored = b"".join(base64.b64decode(each) for each in secret.data.values())
        assert token.split(".")[2].encode() not in stored


async def test_request_that_is_not_signed_by_its_key_is_refused() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token = await world.issue(replica, claim)
        for csr in ("nonsense", "-----BEGIN CERTIFICATE REQUEST-----\nAAAA\n"):
            assert (await replica.call("POST", JOIN, {"token": token, "csr": csr})).status == 401
        assert (
            await replica.call("POST", JOIN, {"token": token, "csr": Machine().csr})
        ).status == 200


async def test_rate_limit_and_lock_answer_429() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica(Limits())
        body = {"token": "hf1.aaaaaaaaaaaa." + "A" * 43, "csr": Machine().csr}
        statuses = [(await replica.call("POST", JOIN, body)).status for _ in range(12)]
        assert statuses[:5] == [401] * 5
        assert 429 in statuses


async def test_guesses_are_cut_off_and_keep_no_machine_out() -> None:
    async with bootstrap_world() as world:
        replica, claim, csr = (
            await world.start_replica(),
            await world.add_claim("web-1"),
            Machine().csr,
        )
        token = await world.issue(replica, claim)
        guess = {"token": ".".join((*token.split(".")[:2], "A" * 43)), "csr": csr}
        statuses = [(await replica.call("POST", JOIN, guess)).status for _ in range(8)]
        assert statuses == [401] * 5 + [429] * 3
        # Even from the same address, as behind one NAT.
        assert (await replica.call("POST", JOIN, {"token": token, "csr": csr})).status == 200
        world.clock.shift += timedelta(minutes=16)
        assert (await replica.call("POST", JOIN, guess)).status == 401


async def test_refusals_of_many_strangers_are_written_down_a_few_times_only() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token = await world.issue(replica, claim)
        guess = {"token": ".".join((*token.split(".")[:2], "A" * 43)), "csr": Machine().csr}
        versions = set()
        for number in range(12):
            answer = await replica.call_from(f"198.51.100.{number}", JOIN, guess)
            assert answer.status == 401
            versions.add((await world.read_claim("web-1")).metadata.resource_version)
            world.clock.shift += timedelta(seconds=2)  # another time in the status
        assert len(versions) == 5


async def test_large_and_malformed_bodies_and_plain_http_are_refused() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        large = await replica.call("POST", JOIN, b"x" * (64 * 1024 + 1))
        assert (large.status, large.body["code"]) == (413, "too_large")
        for body in (b"", b"{", b"[]", b'{"token":1}', b"[" * 5000):
            answer = await replica.call("POST", JOIN, body)
            assert (answer.status, answer.body["code"]) == (400, "invalid_request")
        wrong = await replica.call("POST", JOIN, b'{"token":1}')
        assert "Expected `str`, got `int` - at `$.token`" in wrong.body["message"]
        assert (await replica.call("GET", "/v1/unknown")).status == 404
        plain = await replica.service.handle(http.Request.of("GET", "/healthz"))
        assert plain.status == 403


async def test_token_is_bound_to_a_hardware_address(caplog: pytest.LogCaptureFixture) -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token = await world.issue(replica, claim, boundMAC="AA:00:00:00:00:01")
        request = {"token": token, "csr": Machine().csr}
        for mac in ([], ["aa:00:00:00:00:02"]):
            with caplog.at_level(logging.INFO):
                refused = await replica.call("POST", JOIN, {**request, "machine": {"mac": mac}})
            assert refused.status == 401
            assert reasons(caplog)[-1] == "WrongPlace"
        facts = {"mac": ["bb:00:00:00:00:01", "aa:00:00:00:00:01"]}
        assert (await replica.call("POST", JOIN, {**request, "machine": facts})).status == 200


async def test_answer_that_was_not_recorded_is_recorded_with_the_next_one() -> None:
    async with bootstrap_world() as world:
        replica, claim, machine = (
            await world.start_replica(),
            await world.add_claim("web-1"),
            Machine(),
        )
        token = await world.issue(replica, claim)
        request = {"token": token, "csr": machine.csr}
        first = await replica.call("POST", JOIN, request)
        claims = world.client.resource(MachineClaim.KIND.gvr).subresource("status")
        await claims.patch("web-1", {"status": {"attestation": None}}, namespace="default")
        assert (await world.read_claim("web-1")).status.attestation is None
        again = await replica.call("POST", JOIN, request)
        assert again.body["certificate"] == first.body["certificate"]
        recorded = (await world.read_claim("web-1")).status.attestation
        assert recorded is not None
        assert recorded.method == "join-token"


async def test_unknown_and_used_tokens_are_not_withdrawn() -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token, machine = await world.issue(replica, claim), Machine()
        request = {"token": token, "csr": machine.csr}
        used = await replica.call("POST", JOIN, request)
        for identity in (token.split(".")[1], "none"):
            gone = await replica.call("DELETE", f"{TOKENS}/{identity}", token=world.operator_token)
            assert gone.status in (200, 204)
        again = await replica.call("POST", JOIN, request)
        assert again.body["certificate"] == used.body["certificate"]


@pytest.mark.parametrize("data", [b"{", b'{"id":"\xff"}', b""], ids=["cut", "bytes", "empty"])
async def test_record_that_cannot_be_read_is_no_token_and_stops_no_other(data: bytes) -> None:
    async with bootstrap_world() as world:
        replica, claim = await world.start_replica(), await world.add_claim("web-1")
        token = await world.issue(replica, claim)
        store = SecretTokens(world.client, NAMESPACE)
        (stored,) = await store.list_all()
        listed = await world.client.list(Secret, namespace=NAMESPACE)
        (secret,) = [each for each in listed if each.metadata.name.startswith("join-token-")]
        labels = secret.metadata.labels
        metadata = ObjectMeta(name=f"join-token-{'a' * 12}", namespace=NAMESPACE, labels=labels)
        encoded = {"record": base64.b64encode(data).decode()}
        await world.client.create(Secret(metadata=metadata, type=SECRET_TYPE, data=encoded))
        assert await store.list_all() == await store.list_by_claim(claim.uid) == (stored,)
        assert await store.read("a" * 12) is None
        machine = Machine()
        answer = await replica.call("POST", JOIN, {"token": token, "csr": machine.csr})
        assert answer.status == 200
        await world.issue(replica, claim)
