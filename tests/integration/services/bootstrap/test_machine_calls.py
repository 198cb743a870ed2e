"""What attested machines may do: by their certificate, about their own claim, while it lives."""

import ssl
from datetime import timedelta

import pytest
from bootstrap_world import BootstrapWorld, Machine, Replica, bootstrap_world, name_of
from cryptography import x509

from quarterdeck.kit import http
from quarterdeck.kit.certificate import CertificateRequest, issue_certificate
from quarterdeck.kit.tasks import Supervisor
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.drivers.authority import SecretAuthority
from quarterdeck.services.bootstrap.drivers.claims import KubeClaims
from quarterdeck.services.bootstrap.identity import parse_spiffe_id
from quarterdeck.services.bootstrap.issuer import Issuer
from quarterdeck.testing.poll import eventually

RENEW, BEAT, STATUS = "/v1/credentials/renew", "/v1/heartbeat", "/v1/status"


async def join(world: BootstrapWorld, replica: Replica, name: str = "web-1") -> Machine:
    """A machine that was attested."""
    machine, claim = Machine(), await world.add_claim(name)
    body = {"token": await world.issue(replica, claim), "csr": machine.csr}
    answer = await replica.call("POST", "/v1/attest/join-token", body)
    assert answer.status == 200
    machine.take(answer.body)
    return machine


async def test_certificate_is_renewed_for_another_key() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine, successor = await join(world, replica), Machine()
        before = (await world.read_claim("web-1")).status.attestation
        answer = await replica.call("POST", RENEW, {"csr": successor.csr}, machine=machine)
        assert answer.status == 200
        after = (await world.read_claim("web-1")).status.attestation
        assert before is not None
        assert after is not None
        assert after.cert_serial != before.cert_serial
        assert after.attested_at == before.attested_at
        successor.take(answer.body)
        assert (await replica.call("GET", "/v1/config", machine=successor)).status == 200


async def test_calls_without_a_certificate_are_refused() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        for method, path in (("POST", RENEW), ("POST", BEAT), ("GET", "/v1/config")):
            body = {"csr": Machine().csr} if method == "POST" else None
            answer = await replica.call(method, path, body)
            assert (answer.status, answer.body["code"]) == (401, "unauthenticated")


async def test_certificate_of_another_authority_ends_the_handshake() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        stranger = Machine()
        own = issue_certificate(
            CertificateRequest("stranger", timedelta(hours=1), is_authority=True),
            now=world.clock.now(),
        )
        stranger.key, stranger.certificate = own.key, own.encode_certificate().decode()
        with pytest.raises((http.HttpError, ssl.SSLError)):
            await replica.call("POST", BEAT, {}, machine=stranger)


async def test_service_is_not_trusted_by_clients_of_another_authority() -> None:
    async with bootstrap_world() as one, bootstrap_world() as another:
        rogue, trusted = await one.start_replica(), await another.start_replica()
        rogue.bundle = trusted.bundle
        with pytest.raises(http.TlsError):
            await rogue.call("GET", "/healthz")


@pytest.mark.parametrize(
    ("phase", "directive"), [("Ready", "none"), ("Draining", "drain"), ("Failed", "shutdown")]
)
async def test_state_of_the_claim_directs_the_machine(phase: str, directive: str) -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        await world.set_phase("web-1", phase)
        beat = await replica.call("POST", BEAT, {"uptime": 3.5, "load": 0.1}, machine=machine)
        assert beat.body["directive"] == directive
        report = await replica.call("POST", STATUS, {"phase": "Ready"}, machine=machine)
        assert (report.status, report.body) == (202, {"directive": directive})
        assert (await world.read_claim("web-1")).status.bootstrap_info == "Ready"
        renewal = await replica.call("POST", RENEW, {"csr": Machine().csr}, machine=machine)
        assert renewal.status == (200 if directive == "none" else 403)


async def test_draining_machine_renews_until_its_job_has_ended() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)

        async def renew_after(phase: str, report: str) -> int:
            await world.set_phase("web-1", phase)
            body = {"phase": report, "job": {"id": "17"}}
            assert (await replica.call("POST", STATUS, body, machine=machine)).status == 202
            world.clock.shift += timedelta(minutes=1)
            answer = await replica.call("POST", RENEW, {"csr": machine.csr}, machine=machine)
            return answer.status

        assert await renew_after("Draining", "Busy") == 200
        config = await replica.call("GET", "/v1/config", machine=machine)
        assert config.status == 403, "it is to begin nothing new"
        assert await renew_after("Terminating", "Busy") == 403
        assert await renew_after("Draining", "JobCompleted") == 403


async def test_heartbeats_are_recorded_about_once_a_minute() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)

        async def beat_after(seconds: int) -> str:
            world.clock.shift += timedelta(seconds=seconds)
            assert (await replica.call("POST", BEAT, {}, machine=machine)).status == 200
            return (await world.read_claim("web-1")).status.last_heartbeat

        first = await beat_after(0)
        assert first
        assert await beat_after(30) == first
        assert await beat_after(31) > first


async def test_reports_say_whether_a_job_runs() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        for phase, is_busy in (("Busy", True), ("JobCompleted", False)):
            body = {"phase": phase, "job": {"id": "17"}}
            assert (await replica.call("POST", STATUS, body, machine=machine)).status == 202
            job = (await world.read_claim("web-1")).status.job
            assert job is not None
            assert (job.id, job.busy) == ("17", is_busy)


async def test_watched_claims_direct_machines_without_a_question_for_each() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica(watches=True)
        machine = await join(world, replica)
        await world.set_phase("web-1", "Draining")

        async def is_told() -> bool:
            answer = await replica.call("POST", BEAT, {}, machine=machine)
            return bool(answer.body["directive"] == "drain")

        await eventually(is_told, every_s=0.2)


async def test_machine_of_a_deleted_claim_shuts_down_and_renews_nothing() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        await world.client.delete(await world.read_claim("web-1"))
        await world.add_claim("web-1")
        beat = await replica.call("POST", BEAT, {}, machine=machine)
        assert beat.body["directive"] == "shutdown"
        renewal = await replica.call("POST", RENEW, {"csr": Machine().csr}, machine=machine)
        assert (renewal.status, renewal.body["code"]) == (403, "forbidden")


async def test_cached_claim_of_the_same_name_shuts_no_machine_down() -> None:
    async with bootstrap_world() as world:
        claims, old = KubeClaims(world.client, clock=world.clock), await world.add_claim("web-1")
        async with Supervisor("watch") as tasks:
            tasks.spawn(claims.run(), name="claims")
            await claims._informer.wait_for_cache_sync()
        await world.client.delete(old)  # the watch has ended and does not see it
        new = await world.add_claim("web-1")
        claim = Claim(**name_of(new))
        assert (await claims.get_instruction(claim)).directive == "none"
        gone = Claim(**name_of(old))
        await world.client.delete(new)
        assert (await claims.get_instruction(gone)).directive == "none", "as cached"
        assert (await claims.get_instruction(claim)).directive == "shutdown"


async def test_expired_certificate_is_refused_on_a_kept_connection() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        world.clock.shift += timedelta(hours=1, seconds=1)
        assert (await replica.call("POST", BEAT, {}, machine=machine)).status == 401


async def test_renewals_are_limited() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        body = {"csr": machine.csr}
        statuses = [
            (await replica.call("POST", RENEW, body, machine=machine)).status for _ in range(4)
        ]
        assert statuses == [200, 200, 200, 429]


async def test_bundle_and_metrics_are_served() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        answer = await replica.call("GET", "/v1/trust-bundle")
        assert answer.body["pem"] == replica.bundle
        assert answer.body["jwks"]["keys"][0]["use"] == "x509-svid"
        assert (await replica.call("GET", "/readyz")).status == 200
        assert (await replica.call("GET", "/metrics")).status == 401


async def test_rotated_intermediate_signs_and_both_are_accepted() -> None:
    async with bootstrap_world() as world:
        replica = await world.start_replica()
        machine = await join(world, replica)
        other = Issuer(SecretAuthority(world.client, "quarterdeck-system"), clock=world.clock)
        before = await other.open_authority()
        world.clock.shift += timedelta(hours=13)
        after = await other.open_authority()
        assert after.current != before.current
        assert after.root == before.root
        world.clock.shift = timedelta()
        assert (await replica.call("POST", BEAT, {}, machine=machine)).status == 200
        issued = x509.load_pem_x509_certificate(after.current.certificate)
        assert issued.issuer == x509.load_pem_x509_certificate(after.root.certificate).subject


@pytest.mark.parametrize(
    "text",
    [
        "spiffe://hyperfleet.io/vm/a/b",
        "spiffe://hyperfleet.io/vm/a/b/",
        "spiffe://hyperfleet.io/controller/a/b/c",
        "spiffe://other/vm/a/b/c",
        "spiffe://hyperfleet.io/vm/a/b/c/d",
    ],
)
def test_identity_of_anything_else_is_no_machine(text: str) -> None:
    assert parse_spiffe_id("hyperfleet.io", text) is None
