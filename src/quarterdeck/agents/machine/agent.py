"""The agent's loop: attest, report ready, then renew, send heartbeats, follow directives."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from quarterdeck.agents.machine.facts import describe_machine
from quarterdeck.agents.machine.identity import Identity
from quarterdeck.agents.machine.runner import RunnerError
from quarterdeck.agents.machine.service import Denied, Service, Unreachable
from quarterdeck.agents.machine.settings import Settings, remove_token
from quarterdeck.agents.machine.tpm import Tpm
from quarterdeck.agents.machine.workload import Workload

FIRST_RETRY_S = 1.0
LAST_RETRY_S = 60.0
HEARTBEAT_S = 15.0
LONGEST_MESSAGE = 256
MOST_ANSWERS = 5
"""How many challenges of a TPM are answered before a refusal is final."""


class AnswerRefused(Unreachable):
    """Raised when the answer to a challenge is refused.

    Only the replica that issued a challenge knows it, and not after a restart: a new one may do.
    """


@dataclass(frozen=True, kw_only=True)
class Environment:
    """The functions and files of the machine that the agent uses."""

    wait: Callable[[float], bool]
    """Wait for some seconds; returns True if the agent should stop."""
    now: Callable[[], datetime]
    log: Callable[[str], None]
    power_off: Callable[[], None]
    settings_file: Path
    tcti: str = ""


class Agent:
    """One machine's agent."""

    def __init__(self, settings: Settings, identity: Identity, environment: Environment) -> None:
        self._settings = settings
        self._identity = identity
        self._environment = environment
        self._service = Service(settings.url, settings.trust_bundle)
        self._workload = Workload(self._report, environment.wait, environment.log, self._shut_down)

    def run(self) -> int:
        """Run until stopped; returns the exit code.

        0 is success, 2 to 4 a failure of the runner, and 5 a machine that was refused.
        """
        try:
            if not self._is_attested() and not self._attest_patiently():
                return 0
            if not self._prepare_patiently():
                return 0
            self._report("Ready")
            return self._serve()
        except RunnerError as error:
            return self._give_up(error)
        except Denied as error:
            self._environment.log(f"refused by the bootstrap service: {error}")
            return 5
        finally:
            self._service.close()

    def _is_attested(self) -> bool:
        times = self._identity.read_times()
        return times is not None and self._environment.now() < times[1]

    def _attest_patiently(self) -> bool:
        """Attest, with retries; the same key is used, so that a lost answer is repeated."""
        delay_s, refusals = FIRST_RETRY_S, 0
        while True:
            try:
                self._attest()
                return True
            except Unreachable as error:
                refusals += isinstance(error, AnswerRefused)
                if refusals >= MOST_ANSWERS:
                    raise Denied(str(error)) from error
                self._environment.log(f"will try again in {delay_s:.0f} s: {error}")
            if self._environment.wait(delay_s):
                return False
            delay_s = min(LAST_RETRY_S, delay_s * 2)

    def _attest(self) -> None:
        csr = self._identity.ensure_request()
        if self._settings.method in ("tpm", "tpm+token"):
            credentials = self._attest_by_tpm(csr)
        else:
            body = {"token": self._settings.token, "csr": csr, "machine": describe_machine()}
            credentials = self._service.call("POST", "/v1/attest/join-token", body)
        self._identity.store(credentials)
        if self._settings.token:
            remove_token(self._environment.settings_file)
        self._environment.log(f"attested as {credentials['spiffeId']}")

    def _attest_by_tpm(self, csr: str) -> dict[str, Any]:
        device = self._settings.tpm_device
        tpm = Tpm(self._environment.tcti or (f"device:{device}" if device else ""))
        try:
            request = tpm.describe(self._settings.claim_uid, csr)
            request |= {"token": self._settings.token, "machine": describe_machine()}
            challenge = self._service.call("POST", "/v1/attest/tpm/challenge", request)
            answer = tpm.answer_challenge(challenge, csr)
            try:
                return self._service.call("POST", "/v1/attest/tpm/verify", answer)
            except Denied as error:
                raise AnswerRefused(str(error)) from error
        finally:
            tpm.close()

    def _serve(self) -> int:
        interval_s = HEARTBEAT_S
        while True:
            try:
                self._renew_if_due()
                answer = self._call("POST", "/v1/heartbeat", _describe_machine())
                interval_s = float(answer.get("intervalSeconds", HEARTBEAT_S))
                if answer.get("directive") == "shutdown":
                    return self._shut_down()
                self._workload.apply_directive(str(answer.get("directive", "none")))
            except Unreachable as error:
                self._environment.log(f"heartbeat failed: {error}")
                if not self._is_attested():
                    self._environment.log("the certificate has expired")
                    return self._shut_down()
            code = self._workload.wait(self._compute_wait_s(interval_s))
            if code is not None:
                return code

    def _compute_wait_s(self, interval_s: float) -> float:
        """Seconds until the next heartbeat, or until the renewal if that is sooner."""
        times = self._identity.read_times()
        if times is None:
            return interval_s
        left_s = (times[0] - self._environment.now()).total_seconds()
        return min(interval_s, left_s) if left_s > 0 else interval_s

    def _renew_if_due(self) -> None:
        times = self._identity.read_times()
        if times is None or self._environment.now() < times[0]:
            return
        try:
            credentials = self._call(
                "POST", "/v1/credentials/renew", {"csr": self._identity.start_renewal()}
            )
        except Denied as error:
            self._environment.log(f"cannot renew the certificate: {error}")
            return  # the answer to the next heartbeat has the directive
        self._identity.store(credentials)
        self._environment.log("certificate renewed")

    def _prepare_patiently(self) -> bool:
        """Read the configuration and prepare the workload, with retries; False to stop."""
        delay_s = FIRST_RETRY_S
        while True:
            try:
                self._workload.prepare(self._call("GET", "/v1/config", None))
                return True
            except Unreachable as error:
                self._environment.log(f"will ask again in {delay_s:.0f} s: {error}")
            if self._environment.wait(delay_s):
                return False
            delay_s = min(LAST_RETRY_S, delay_s * 2)

    def _give_up(self, error: RunnerError) -> int:
        self._environment.log(str(error))
        self._report("Failed", str(error)[:LONGEST_MESSAGE])
        return error.code

    def _report(self, phase: str, message: str = "") -> None:
        try:
            self._call("POST", "/v1/status", {"phase": phase, "message": message})
            self._environment.log(f"reported {phase}")
        except Unreachable as error:
            self._environment.log(f"report failed: {error}")

    def _shut_down(self) -> int:
        self._environment.log("shutting down")
        self._environment.power_off()
        return 0

    def _call(self, method: str, path: str, body: object) -> dict[str, Any]:
        identity = self._identity
        return self._service.call(method, path, body, chain=identity.chain, key=identity.key)


def _describe_machine() -> dict[str, float]:
    return {"uptime": _read_number("/proc/uptime"), "load": _read_number("/proc/loadavg")}


def _read_number(path: str) -> float:
    try:
        return float(Path(path).read_text().split()[0])
    except (OSError, ValueError):
        return 0.0
