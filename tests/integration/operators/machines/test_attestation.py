"""Claims whose machines must prove themselves, by what the bootstrap service writes."""

from typing import Any

from tests.integration.operators.machines.world import World, condition, open_world

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.kit import rfc3339
from quarterdeck.kit.redaction import Secret
from quarterdeck.operators.machines.invitation import PATH, Invitation, ServiceMissing

TOKEN = "hf1.aaaaaaaaaaaa.secret-of-the-token"
ATTESTED = {
    "method": "join-token",
    "spiffeID": "spiffe://hyperfleet.io/vm/default/m1/uid",
    "certSerial": "1",
}


class Service:
    """The bootstrap service, as far as the operator sees it."""

    def __init__(self) -> None:
        self.is_there = True
        self.token = TOKEN
        self.invited: list[tuple[str, bool, float]] = []

    async def invite(
        self, claim: MachineClaim, *, needs_token: bool, lifetime_s: float
    ) -> Invitation:
        if not self.is_there:
            raise ServiceMissing("the service does not answer")
        self.invited.append((claim.metadata.name, needs_token, lifetime_s))
        token = Secret(self.token) if needs_token else None
        return Invitation("https://bootstrap:8445", "the root", token)


async def write(world: World, status: dict[str, Any]) -> None:
    """Write what the service writes."""
    statuses = world.client.resource(MachineClaim.KIND.gvr).subresource("status")
    await statuses.patch("m1", {"status": status}, namespace="default")


def seed_of(world: World) -> str:
    seed = world.lab.vms[world.vms["m1"].id].seed
    assert seed is not None
    return str(seed)


async def test_machine_is_ready_when_it_is_attested_and_its_agent_says_so() -> None:
    service = Service()
    async with open_world() as world, world.operator(inviter=service):
        await world.set_up(attestation="join-token")
        await world.claim()
        claim = await world.phase("Bootstrapping")
        await world.advance(10)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Attested").reason == "AwaitingAttestation"
        assert service.invited == [("m1", True, 3600.0)]
        assert PATH in seed_of(world)
        assert TOKEN in seed_of(world)
        assert TOKEN not in str(claim)
        await write(world, {"attestation": ATTESTED})
        await world.advance(5)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Attested").status == "True"
        assert condition(claim, "Joined").reason == "AwaitingAgent"
        vm = world.lab.vms[world.vms["m1"].id]
        assert vm.seed is None, "the seed with the spent token is detached"
        await write(world, {"bootstrapInfo": "Ready"})
        claim = await world.phase("Ready")
        assert condition(claim, "Joined").status == "True"
        assert condition(claim, "Bootstrapped").status == "True"
        assert "AttestationSucceeded" in await world.events()


async def test_operator_never_overwrites_what_the_service_wrote() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Ready"})
        await world.phase("Ready")
        await write(world, {"attestation": {"certSerial": "2"}, "bootstrapInfo": "Busy"})
        await world.advance(120)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.attestation is not None
        assert claim.status.attestation.cert_serial == "2"
        assert claim.status.bootstrap_info == "Busy"
        document = await world.client.resource(MachineClaim.KIND.gvr).get("m1", "default")
        owners = [
            each["manager"]
            for each in document["metadata"]["managedFields"]
            if "f:attestation" in each["fieldsV1"].get("f:status", {})
        ]
        assert owners
        assert "hyperfleet-controller" not in owners


async def test_machine_that_never_proves_itself_fails() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="tpm")
        await world.claim()
        await world.phase("Bootstrapping")
        assert TOKEN not in seed_of(world)
        claim = await world.phase("Failed", within_s=1000)
        assert claim.status.failure_reason == "BootstrapTimeout"


async def test_refused_proof_is_a_condition_and_an_event() -> None:
    refusal = {"reason": "ClonedTpm", "message": "the key is of m0", "time": "2026-01-01T00:00:00Z"}
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="tpm")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestationRefusal": refusal})
        await world.advance(5)
        claim = await world.get(MachineClaim, "m1")
        for name in ("Attested", "Ready", "AttestationRefused"):
            assert condition(claim, name).reason == "AttestationFailed"
        assert "ClonedTpm" in condition(claim, "Attested").message
        assert "AttestationFailed" in await world.events()
        await write(world, {"attestation": {**ATTESTED, "method": "tpm"}, "bootstrapInfo": "Ready"})
        claim = await world.phase("Ready")
        assert condition(claim, "Attested").status == "True"
        assert condition(claim, "AttestationRefused").status == "True", "it stays to be looked at"


async def test_silent_agent_is_a_condition_and_an_event_until_it_is_heard_again() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Ready"})
        await world.phase("Ready")
        await write(world, {"lastHeartbeat": rfc3339.format_time(world.clock.now())})
        await world.advance(140)
        assert condition(await world.get(MachineClaim, "m1"), "Healthy").status == "True"
        await world.advance(20)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Healthy").reason == "HeartbeatLost"
        assert "HeartbeatLost" in await world.events()
        await write(world, {"lastHeartbeat": rfc3339.format_time(world.clock.now())})
        await world.advance(40)
        assert condition(await world.get(MachineClaim, "m1"), "Healthy").status == "True"


async def test_agent_of_a_machine_that_was_off_is_not_missed_while_it_boots() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Ready"})
        await world.phase("Ready")
        await write(world, {"lastHeartbeat": rfc3339.format_time(world.clock.now())})
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "Off"}})
        await world.advance(600)
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await world.advance(100)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "PoweredOn").status == "True"
        assert condition(claim, "Healthy").status == "True"
        assert "HeartbeatLost" not in await world.events()
        await world.advance(200)
        claim = await world.get(MachineClaim, "m1")
        assert condition(claim, "Healthy").reason == "HeartbeatLost"


async def test_deletion_waits_for_the_job_that_the_agent_reports() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Ready"})
        await world.phase("Ready")
        beat = {"lastHeartbeat": rfc3339.format_time(world.clock.now())}
        await write(world, {**beat, "job": {"id": "17", "busy": True}})
        await world.delete(MachineClaim, "m1")
        await world.advance(40)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.phase == "Draining"
        assert "17" in condition(claim, "Drained").message
        assert claim.status.job is not None
        assert claim.status.job.busy, "the operator leaves alone what the service wrote"
        await write(world, {"job": {"busy": False}})
        await world.gone(MachineClaim, "m1")


async def test_agent_that_reports_failure_fails_the_claim() -> None:
    async with open_world() as world, world.operator(inviter=Service()):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.phase("Bootstrapping")
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Failed: no disk"})
        claim = await world.phase("Failed")
        assert claim.status.failure_reason == "BootstrapFailed"
        assert "no disk" in claim.status.failure_message


async def test_machine_is_not_started_before_the_service_answers() -> None:
    service = Service()
    service.is_there = False
    async with open_world() as world, world.operator(inviter=service):
        await world.set_up(attestation="join-token")
        await world.claim()
        await world.advance(60)
        claim = await world.get(MachineClaim, "m1")
        assert claim.status.phase == "Provisioning"
        assert condition(claim, "Ready").reason == "BootstrapServiceMissing"
        service.is_there = True
        await world.phase("Bootstrapping")


async def test_machine_that_is_switched_on_late_gets_a_new_token() -> None:
    service = Service()
    async with open_world() as world, world.operator(inviter=service):
        await world.set_up(attestation="join-token")
        await world.claim(powerState="Off")
        await world.phase("Ready")
        await world.advance(600)
        assert len(service.invited) == 1
        service.token = "hf1.bbbbbbbbbbbb.secret-of-a-newer-token"
        await world.patch(MachineClaim, "m1", {"spec": {"powerState": "On"}})
        await world.phase("Bootstrapping")
        assert len(service.invited) == 2
        assert service.token in seed_of(world)
        await write(world, {"attestation": ATTESTED, "bootstrapInfo": "Ready"})
        await world.phase("Ready")
        for state in ("Off", "On"):
            await world.patch(MachineClaim, "m1", {"spec": {"powerState": state}})
            await world.advance(120)
        assert (await world.get(MachineClaim, "m1")).status.phase == "Ready"
        assert len(service.invited) == 2, "it has attested, and needs no token any more"
