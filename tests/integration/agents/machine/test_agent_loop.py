"""The loop of the agent in this process: a service that answers as told, and a clock that jumps."""

import asyncio
import base64
import contextlib
import json
from collections.abc import AsyncIterator, Callable, Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding
from webhook_server import webhook_server

from quarterdeck.agents.machine import agent
from quarterdeck.agents.machine.agent import Agent, Environment
from quarterdeck.agents.machine.identity import Identity
from quarterdeck.agents.machine.settings import load_settings
from quarterdeck.kit import http
from quarterdeck.testing import programs

START = datetime(2030, 1, 1, tzinfo=UTC)
RENEW, END = timedelta(minutes=30), timedelta(hours=1)
CHALLENGE, VERIFY = "/v1/attest/tpm/challenge", "/v1/attest/tpm/verify"
ATTEST, CONFIG, STATUS = "/v1/attest/join-token", "/v1/config", "/v1/status"
HEARTBEAT, RENEWAL = "/v1/heartbeat", "/v1/credentials/renew"
SIGN = "sign"
"""An answer: a certificate for the key that is asked for."""

Answer = tuple[int, Any]


class World:
    """What the service answers, by path and in order; what the agent asked, waited and logged."""

    def __init__(self) -> None:
        self.answers: dict[str, list[Answer]] = {ATTEST: [(201, SIGN)], RENEWAL: [(201, SIGN)]}
        self.asked: list[tuple[str, Any]] = []
        self.waits: list[float] = []
        self.lines: list[str] = []
        self.now = START
        self.steps: list[Callable[[], None]] = []
        """What happens during each wait; the agent is told to stop when there is nothing left."""
        self.is_off = False

    async def handle(self, request: http.Request) -> http.Response:
        body = json.loads(await request.read(1 << 20) or b"null")
        self.asked.append((request.path, body))
        answers = self.answers.get(request.path, [(200, {})])
        status, answer = answers.pop(0) if len(answers) > 1 else answers[0]
        if answer == SIGN:
            answer = self._sign(body["csr"])
        return http.Response(status, [], json.dumps(answer).encode())

    def _sign(self, text: str) -> dict[str, Any]:
        request = x509.load_pem_x509_csr(text.encode())
        key = ec.generate_private_key(ec.SECP256R1())
        builder = x509.CertificateBuilder(x509.Name([]), request.subject, request.public_key())
        builder = builder.serial_number(7).not_valid_before(START).not_valid_after(START + END)
        certificate = builder.sign(key, hashes.SHA256()).public_bytes(Encoding.PEM)
        return {
            "certificate": certificate.decode(),
            "chain": [],
            "renewAfter": (self.now + RENEW).isoformat(),
            "notAfter": (self.now + END).isoformat(),
            "spiffeId": "spiffe://example.org/machine/vm",
        }

    def wait(self, seconds: float) -> bool:
        self.waits.append(seconds)
        if not self.steps:
            return True
        self.steps.pop(0)()
        return False

    def advance(self, by: timedelta) -> Callable[[], None]:
        def step() -> None:
            self.now += by

        return step

    def switch_off(self) -> None:
        self.is_off = True

    def list_phases(self) -> list[str]:
        return [body["phase"] for path, body in self.asked if path == STATUS]


@contextlib.asynccontextmanager
async def machine(
    world: World, folder: Path, *, method: str = "join-token"
) -> AsyncIterator[Agent]:
    """An agent beside its service, with a file as a seed writes it."""
    programs.require("openssl")
    async with webhook_server(world.handle) as server:
        document = {
            "url": server.url,
            "trustBundle": base64.b64decode(server.ca_bundle).decode(),
            "method": method,
            "token": "secret-token",
            "claim": {"uid": "1"},
        }
        file = folder / "agent.json"
        file.write_text(json.dumps(document))
        environment = Environment(
            wait=world.wait,
            now=lambda: world.now,
            log=world.lines.append,
            power_off=world.switch_off,
            settings_file=file,
        )
        yield Agent(load_settings(file), Identity(folder / "state"), environment)


async def run(world: World, folder: Path, *, method: str = "join-token") -> int:
    async with machine(world, folder, method=method) as one:
        return await asyncio.to_thread(one.run)


def rest(times: int) -> Iterable[Callable[[], None]]:
    return [lambda: None] * times


async def test_agent_asks_again_after_twice_the_time(tmp_path: Path) -> None:
    world = World()
    world.answers |= {
        ATTEST: [(503, {"code": "unavailable"}), (429, {}), (201, SIGN)],
        CONFIG: [(500, "not an object"), (200, {})],
        HEARTBEAT: [(200, {"intervalSeconds": 40})],
    }
    world.steps.extend(rest(3))
    assert await run(world, tmp_path) == 0
    assert world.waits == [1.0, 2.0, 1.0, 40.0]
    assert world.lines[0].startswith("will try again in 1 s: POST /v1/attest/join-token: 503")
    assert "will ask again in 1 s: GET /v1/config: 500" in world.lines
    assert world.list_phases() == ["Ready"]
    requests = [body["csr"].encode() for path, body in world.asked if path == ATTEST]
    first, *others = (x509.load_pem_x509_csr(each).public_key() for each in requests)
    assert others == [first, first], "the same key, so that a lost answer is repeated"
    assert "secret-token" not in (tmp_path / "agent.json").read_text(), "it is spent"


@pytest.mark.parametrize("path", [ATTEST, CONFIG])
async def test_agent_that_is_stopped_while_it_tries_ends_without_an_error(
    tmp_path: Path, path: str
) -> None:
    world = World()
    world.answers[path] = [(503, {})]
    assert await run(world, tmp_path) == 0
    assert world.waits == [1.0]
    assert world.list_phases() == []


async def test_agent_that_was_attested_before_is_not_attested_again(tmp_path: Path) -> None:
    world = World()
    for _ in range(2):
        assert await run(world, tmp_path) == 0
    assert [path for path, _ in world.asked].count(ATTEST) == 1
    assert world.list_phases() == ["Ready", "Ready"]


async def test_refused_agent_ends_with_code_five(tmp_path: Path) -> None:
    world = World()
    world.answers[ATTEST] = [(403, {"code": "token_unknown", "requestId": "r1"})]
    assert await run(world, tmp_path) == 5
    assert world.lines == [
        "refused by the bootstrap service:"
        " POST /v1/attest/join-token: 403 token_unknown (request r1)"
    ]


class FakeTpm:
    """A TPM whose answers are the certificate request, which this test's service signs."""

    def __init__(self, tcti: str) -> None:
        pass

    def describe(self, claim_uid: str, csr: str) -> dict[str, Any]:
        return {"claimUid": claim_uid, "csr": csr}

    def answer_challenge(self, challenge: dict[str, Any], csr: str) -> dict[str, Any]:
        return {"sessionId": challenge["sessionId"], "csr": csr}

    def close(self) -> None:
        pass


async def test_answer_that_another_replica_gets_is_followed_by_a_new_challenge(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "Tpm", FakeTpm)
    world = World()
    world.answers[CHALLENGE] = [(200, {"sessionId": "one"}), (200, {"sessionId": "two"})]
    world.answers[VERIFY] = [(401, {"code": "attestation_failed"}), (201, SIGN)]
    world.steps.extend(rest(1))
    assert await run(world, tmp_path, method="tpm") == 0
    assert [body["sessionId"] for path, body in world.asked if path == VERIFY] == ["one", "two"]
    assert world.waits[0] == 1.0
    assert world.list_phases() == ["Ready"]


async def test_machine_whose_answers_are_all_refused_gives_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(agent, "Tpm", FakeTpm)
    world = World()
    world.answers[CHALLENGE] = [(200, {"sessionId": "one"})]
    world.answers[VERIFY] = [(401, {"code": "attestation_failed"})]
    world.steps.extend(rest(9))
    assert await run(world, tmp_path, method="tpm") == 5
    assert world.waits == [1.0, 2.0, 4.0, 8.0]
    world = World()
    world.answers[CHALLENGE] = [(401, {"code": "attestation_failed"})]
    assert await run(world, tmp_path, method="tpm") == 5
    assert world.waits == []


async def test_directives_drain_once_and_shut_down(tmp_path: Path) -> None:
    world = World()
    answers = [{"directive": each} for each in ("none", "drain", "drain", "shutdown")]
    world.answers[HEARTBEAT] = [(200, answer) for answer in answers]
    world.steps.extend(rest(3))
    assert await run(world, tmp_path) == 0
    assert world.list_phases() == ["Ready", "Idle"]
    assert world.waits == [15.0, 15.0, 15.0]
    assert world.is_off


async def test_certificate_is_renewed_when_it_is_due(tmp_path: Path) -> None:
    world = World()
    world.answers[RENEWAL] = [(403, {"code": "claim_gone"}), (201, SIGN)]
    world.answers[HEARTBEAT] = [(200, {"intervalSeconds": 3000})]
    world.steps.extend(
        [world.advance(RENEW), world.advance(timedelta(minutes=1)), world.advance(RENEW)]
    )
    assert await run(world, tmp_path) == 0
    assert world.waits[0] == RENEW.total_seconds(), "it wakes when the certificate is due"
    assert world.waits[1] == 3000.0, "a renewal that was refused is tried at the next heartbeat"
    assert world.waits[2] == RENEW.total_seconds()
    assert sum(
        "cannot renew the certificate: POST /v1/credentials/renew: 403" in line
        for line in world.lines
    )
    assert world.lines.count("certificate renewed") == 2
    requests = [body["csr"] for path, body in world.asked if path in (ATTEST, RENEWAL)]
    assert len(set(requests)) == 4, "each renewal has a key of its own"


async def test_agent_that_starts_after_an_unanswered_renewal_attests_again(tmp_path: Path) -> None:
    world = World()
    world.answers[RENEWAL] = [(503, {})]
    world.steps.append(world.advance(RENEW))
    assert await run(world, tmp_path) == 0
    assert [path for path, _ in world.asked][-1] == RENEWAL
    world.now += END
    assert await run(world, tmp_path) == 0
    assert world.list_phases() == ["Ready", "Ready"], world.lines


async def test_machine_whose_certificate_expired_is_switched_off(tmp_path: Path) -> None:
    world = World()
    world.answers[HEARTBEAT] = [(503, {})]
    world.answers[RENEWAL] = [(503, {})]
    world.steps.extend([*rest(1), world.advance(END)])
    assert await run(world, tmp_path) == 0
    assert world.waits == [15.0, 15.0], "an unreachable service is no reason to stop"
    assert world.lines[-2:] == ["the certificate has expired", "shutting down"]
    assert world.is_off


async def test_workload_that_is_not_usable_is_reported(tmp_path: Path) -> None:
    world = World()
    world.answers[CONFIG] = [(200, {"method": "runner-token", "platform": "gitlab"})]
    assert await run(world, tmp_path) == 3
    phase, message = (world.asked[-1][1][name] for name in ("phase", "message"))
    assert phase == "Failed"
    assert message == (
        "invalid configuration: platform 'gitlab' is not supported; use github-actions"
    )


async def test_agent_goes_on_when_a_report_is_lost(tmp_path: Path) -> None:
    world = World()
    world.answers[STATUS] = [(502, {})]
    assert await run(world, tmp_path) == 0
    assert "report failed: POST /v1/status: 502" in world.lines
    assert world.waits == [15.0]
