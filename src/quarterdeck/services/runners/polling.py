"""Polls GitHub for jobs where no deliveries arrive: a few requests per repository.

Only repositories can be polled: GitHub does not list the jobs of an organization. Runs are listed
by status and change meanwhile, so a job that is in no list has ended only if GitHub says so.
"""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import NamedTuple, TypeVar

import msgspec

from quarterdeck.apis.core.config import ConfigMap, Secret
from quarterdeck.apis.hypervisor.jobs import Job, JobState, build_record_name, read_jobs
from quarterdeck.apis.hypervisor.pool import RunnerPool
from quarterdeck.client.client import Client
from quarterdeck.client.errors import ClientError
from quarterdeck.kit import duration, http, json, redaction, rfc3339
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.redaction import Masker
from quarterdeck.meta.identity import Key
from quarterdeck.services.runners.events import JobEvent
from quarterdeck.services.runners.matching import can_serve
from quarterdeck.services.runners.record import write_job, write_poll_result
from quarterdeck.wire.status import ApiError, NotFound

T = TypeVar("T")
GITHUB = "https://api.github.com"
CHECK_INTERVAL_S = 5.0
_LONGEST = 8 << 20
_PER_PAGE, _MOST_PAGES = 100, 10
"""GitHub lists 1,000 runs of one status at most."""
_STATES: dict[str, JobState] = {
    "queued": "queued",
    "in_progress": "in_progress",
    "completed": "completed",
}


class PollFailed(Exception):
    """Raised when a request to GitHub fails; the message has its answer."""


class _Absent(PollFailed):
    """Raised when GitHub does not have what was asked for."""


class _Run(msgspec.Struct, frozen=True):
    id: int


class _Runs(msgspec.Struct, frozen=True):
    workflow_runs: tuple[_Run, ...] = ()

    def __len__(self) -> int:
        return len(self.workflow_runs)


class _Job(msgspec.Struct, frozen=True):
    id: int
    status: str = ""
    labels: tuple[str, ...] = ()
    runner_name: str | None = None


class _Jobs(msgspec.Struct, frozen=True):
    jobs: tuple[_Job, ...] = ()

    def __len__(self) -> int:
        return len(self.jobs)


Page = TypeVar("Page", _Runs, _Jobs)


class Repository(NamedTuple):
    """A repository, with the URL of its API and the token to use."""

    url: str
    name: str
    token: str


class Poller:
    """Polls the jobs of every pool with polling."""

    def __init__(
        self,
        client: Client,
        github: http.Client,
        clock: Clock,
        *,
        warn: Callable[[str, str], None] = lambda pool, problem: None,
    ) -> None:
        """`warn` is called with a pool that cannot be polled, and why."""
        self._client = client
        self._github = github
        self._clock = clock
        self._warn = warn
        self._asked: dict[Key, float] = {}

    async def run(self) -> None:
        """Poll until cancelled; failures are logged and retried."""
        while True:
            try:
                await self.poll_due()
            except (ApiError, ClientError) as error:
                self._warn("", f"request to the API server failed: {type(error).__name__}")
            await self._clock.sleep(CHECK_INTERVAL_S)

    async def poll_due(self) -> None:
        """Poll the repository of every pool whose interval has passed."""
        pools = [each for each in await self._client.list(RunnerPool) if _is_polled(each)]
        left = {each.key for each in pools}
        self._asked = {key: at for key, at in self._asked.items() if key in left}
        for pool in pools:
            polling = pool.spec.polling
            assert polling is not None  # it is polled
            now = self._clock.monotonic()
            try:
                interval_s = duration.parse_seconds(polling.interval)
                if now - self._asked.get(pool.key, float("-inf")) < interval_s:
                    continue
                self._asked[pool.key] = now
                await self.poll(pool, pools)
                problem = ""
            except duration.DurationError as error:
                problem = f"spec.polling.interval: {error}"
            except PollFailed as error:
                problem = str(error)
            if problem:
                self._warn(str(pool.key), problem)
            await write_poll_result(self._client, pool, problem)

    async def poll(self, pool: RunnerPool, others: Sequence[RunnerPool] = ()) -> None:
        """Record the jobs that wait or run, and those recorded ones that have ended.

        A job that several pools serve is recorded for the first by name, as that of a delivery is;
        `others` are all pools.

        Raises:
            PollFailed: if a request to GitHub fails.
        """
        repository = await self._find_repository(pool)
        known = {job.id: job for job in await self._read_known(pool)}
        rivals = [each for each in others if _is_rival(each, pool)]
        taken = {job.id for each in rivals for job in await self._read_known(each)}
        listed: set[str] = set()
        async for event in self._list_jobs(repository):
            listed.add(event.job.id)
            if event.job.id not in known:
                precede = (each for each in rivals if each.key < pool.key)
                if event.job.id in taken or any(can_serve(each, event) for each in precede):
                    continue
            if can_serve(pool, event):
                await write_job(self._client, pool, event.job, self._clock.now())
        for job in known.values():
            if job.status != "completed" and job.id not in listed:
                changed = await self._read_job(repository, job)
                await write_job(self._client, pool, changed, self._clock.now())

    async def _list_jobs(self, repository: Repository) -> AsyncIterator[JobEvent]:
        owner = repository.name.partition("/")[0]
        base = f"{repository.url}/repos/{repository.name}/actions/runs"
        for status in ("queued", "in_progress"):
            async for runs in self._list_pages(f"{base}?status={status}&", repository, _Runs):
                for run in runs.workflow_runs:
                    url = f"{base}/{run.id}/jobs?"
                    async for jobs in self._list_pages(url, repository, _Jobs):
                        for job in jobs.jobs:
                            if (state := _STATES.get(job.status)) is not None:
                                labels = frozenset(label.lower() for label in job.labels)
                                found = self._build_job(job, state)
                                yield JobEvent(found, labels, repository.name, owner)

    async def _list_pages(
        self, url: str, repository: Repository, kind: type[Page]
    ) -> AsyncIterator[Page]:
        for number in range(1, _MOST_PAGES + 1):
            page = await self._get(f"{url}per_page={_PER_PAGE}&page={number}", repository, kind)
            yield page
            if len(page) < _PER_PAGE:
                return

    async def _read_job(self, repository: Repository, job: Job) -> Job:
        """The state of a recorded job that was not listed; unknown jobs have ended."""
        url = f"{repository.url}/repos/{repository.name}/actions/jobs/{job.id}"
        try:
            found = await self._get(url, repository, _Job)
        except _Absent:
            return msgspec.structs.replace(job, status="completed", since=self._stamp())
        state = _STATES.get(found.status)
        return self._build_job(found, state) if state is not None else job

    def _build_job(self, job: _Job, state: JobState) -> Job:
        runner = job.runner_name or ""
        return Job(id=str(job.id), status=state, runner=runner, since=self._stamp())

    async def _get(self, url: str, repository: Repository, type_: type[T]) -> T:
        headers = [("Accept", "application/vnd.github+json"), ("User-Agent", "quarterdeck")]
        if repository.token:
            headers.append(("Authorization", f"Bearer {repository.token}"))
        masker = Masker(redaction.Secret(repository.token))
        try:
            answer = await self._github.request("GET", url, headers=headers)
            body = await answer.read(_LONGEST)
        except http.HttpError as error:
            text = masker.mask(f"{repository.url} cannot be reached: {error}")
            raise PollFailed(text) from error
        except ValueError as error:  # no request can be made of it
            fields = "spec.polling.url or spec.workload.config.github.repository"
            raise PollFailed(masker.mask(f"{fields} cannot be used: {error}")) from error
        if answer.status == 404:
            raise _Absent(f"{repository.url} answered 404 for {repository.name}")
        if answer.status != 200:
            raise PollFailed(f"{repository.url} answered {answer.status} for {repository.name}")
        try:
            return msgspec.json.decode(body, type=type_)
        except json.UNREADABLE as error:
            text = masker.mask(f"the answer of {repository.url} cannot be decoded: {error}")
            raise PollFailed(text) from error

    async def _find_repository(self, pool: RunnerPool) -> Repository:
        polling, name = pool.spec.polling, _name_repository(pool)
        assert polling is not None
        if "/" not in name:
            raise PollFailed("spec.workload.config.github.repository must be OWNER/NAME")
        return Repository((polling.url or GITHUB).rstrip("/"), name, await self._read_token(pool))

    async def _read_token(self, pool: RunnerPool) -> str:
        reference = pool.spec.polling.token_ref if pool.spec.polling is not None else None
        if reference is None:
            return ""
        try:
            secret = await self._client.get(Secret, reference.name, pool.metadata.namespace)
        except NotFound:
            raise PollFailed(f"Secret {reference.name} not found") from None
        token = (secret.read(reference.key) or b"").decode("utf-8", "replace").strip()
        if not (token.isascii() and token.isprintable()):
            raise PollFailed(
                f"spec.polling.tokenRef: the value of key {reference.key} of Secret "
                f"{reference.name} has characters that no token has, such as line breaks"
            )
        return token

    async def _read_known(self, pool: RunnerPool) -> list[Job]:
        name, namespace = build_record_name(pool.metadata.name), pool.metadata.namespace
        try:
            return read_jobs((await self._client.get(ConfigMap, name, namespace)).data)
        except NotFound:
            return []

    def _stamp(self) -> str:
        return rfc3339.format_time(self._clock.now())


def _is_polled(pool: RunnerPool) -> bool:
    return pool.spec.polling is not None and pool.spec.polling.enabled


def _name_repository(pool: RunnerPool) -> str:
    config = pool.spec.workload.config
    github = config.github if config is not None else None
    if github is None or "/" in github.repository or not github.organization:
        return github.repository if github is not None else ""
    return f"{github.organization}/{github.repository}" if github.repository else ""


def _is_rival(other: RunnerPool, pool: RunnerPool) -> bool:
    """Whether another pool of the namespace polls the same repository."""
    return (
        other.key != pool.key
        and other.metadata.namespace == pool.metadata.namespace
        and _name_repository(other).lower() == _name_repository(pool).lower()
        and _is_polled(other)
    )
