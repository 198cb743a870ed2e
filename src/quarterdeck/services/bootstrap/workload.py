"""The workload of a machine after its attestation, and the configuration of its agent. Pure."""

from urllib.parse import urlsplit

import msgspec

from quarterdeck.apis.hypervisor.bootstrap import GithubBootstrap, GithubRunner
from quarterdeck.apis.hypervisor.jobs import RUNNER_LABELS
from quarterdeck.apis.hypervisor.workload import GithubWorkload
from quarterdeck.kit.redaction import redact
from quarterdeck.services.bootstrap.claim import Claim

GITHUB_API = "https://api.github.com"
_REGISTRATION = "actions/runners/registration-token"
PLATFORM = "github-actions"


class WorkloadError(Exception):
    """Raised when a workload cannot be prepared; the message has the cause."""


class Workload(msgspec.Struct, frozen=True, kw_only=True):
    """The workload of a machine, from its template and its claim."""

    method: str = "none"
    github: GithubBootstrap | None = None
    wanted: GithubWorkload = GithubWorkload()
    """The runner settings of the claim or its pool."""
    namespace: str = ""
    """Namespace of the template, and default namespace of its Secrets."""


class Registration(msgspec.Struct, frozen=True, kw_only=True):
    """The page that a runner registers at, and the URL of its registration token."""

    token_url: str
    page: str
    """URL of the repository or organization that the runner is configured with."""

    @property
    def api(self) -> str:
        """The root URL of GitHub's API, for other calls."""
        for mark in ("/repos/", "/orgs/"):
            if mark in self.token_url:
                return self.token_url.partition(mark)[0]
        place = urlsplit(self.token_url)
        return f"{place.scheme}://{place.netloc}"


def find_registration(workload: Workload) -> Registration:
    """Find where to register the runner; a repository wins over an organization.

    Raises:
        WorkloadError: if neither is named.
    """
    github, wanted = workload.github, workload.wanted
    if github is None:
        raise WorkloadError("spec.bootstrap.config.github is missing in the template")
    page = urlsplit(github.url)
    host, parts = f"{page.scheme}://{page.netloc}", [each for each in page.path.split("/") if each]
    repository = wanted.repository or github.repository or (parts[1] if len(parts) > 1 else "")
    organization = wanted.organization or github.organization or (parts[0] if parts else "")
    owner, _, name = repository.rpartition("/")
    owner = owner or github.owner or organization
    urls = github.registration_urls
    if name and owner:
        pattern = urls.repository if urls is not None else ""
        pattern = pattern or f"{_find_api(page.netloc)}/repos/{{owner}}/{{repo}}/{_REGISTRATION}"
        return Registration(
            token_url=_fill(pattern, owner=owner, repo=name), page=f"{host}/{owner}/{name}"
        )
    if organization:
        pattern = urls.organization if urls is not None else ""
        pattern = pattern or f"{_find_api(page.netloc)}/orgs/{{org}}/{_REGISTRATION}"
        return Registration(
            token_url=_fill(pattern, org=organization), page=f"{host}/{organization}"
        )
    shown = redact(github.url)
    text = f"spec.bootstrap.config.github.url {shown!r} names no repository or organization"
    raise WorkloadError(text)


def build_runner_config(
    claim: Claim, workload: Workload, *, registration: Registration, token: str, expires_at: str
) -> dict[str, object]:
    """Build the configuration of the runner, in the form that the agent reads."""
    assert workload.github is not None  # it was registered
    runner, wanted = workload.github.runner or GithubRunner(), workload.wanted
    document: dict[str, object] = {
        "method": "runner-token",
        "platform": PLATFORM,
        "runner_token": token,
        "registration_url": registration.page,
        "runner_name": wanted.runner_name or name_runner(claim),
        "labels": list(dict.fromkeys((*RUNNER_LABELS, *runner.labels, *wanted.labels))),
        "expires_at": expires_at,
        "runner": {
            "download_url": runner.download_url,
            "install_path": runner.install_path,
            "work_dir": runner.work_dir,
            "config_script": runner.config_script,
            "run_script": runner.run_script,
            "os": runner.os,
            "arch": runner.arch,
        },
    }
    if wanted.runner_group:
        document["runner_group"] = wanted.runner_group
    return document


def build_empty_config(claim: Claim) -> dict[str, object]:
    """Build the configuration of a machine without a runner."""
    return {"method": "none", "runner_name": name_runner(claim), "labels": []}


def name_runner(claim: Claim) -> str:
    """The name that a runner registers with, unless its claim sets another."""
    return f"{claim.name}-{claim.uid[:8]}"


def _find_api(host: str) -> str:
    """The API URL of github.com, or of a GitHub Enterprise Server."""
    return GITHUB_API if host in ("", "github.com", "www.github.com") else f"https://{host}/api/v3"


def _fill(pattern: str, **values: str) -> str:
    for name, value in values.items():
        pattern = pattern.replace(f"{{{name}}}", value)
    return pattern
