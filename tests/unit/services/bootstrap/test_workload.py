"""Where a runner is registered, and the file that tells its agent."""

from typing import Any

import msgspec
import pytest

from quarterdeck.apis.hypervisor.bootstrap import GithubBootstrap
from quarterdeck.apis.hypervisor.workload import GithubWorkload
from quarterdeck.services.bootstrap.claim import Claim
from quarterdeck.services.bootstrap.workload import (
    Registration,
    Workload,
    WorkloadError,
    build_empty_config,
    build_runner_config,
    find_registration,
)

_CLAIM = Claim(namespace="default", name="one", uid="12345678-abcd")
_TOKEN = "actions/runners/registration-token"


def _workload(url: str, wanted: GithubWorkload | None = None, **more: Any) -> Workload:
    github = msgspec.convert({"url": url, **more}, GithubBootstrap)
    return Workload(method="runner-token", github=github, wanted=wanted or GithubWorkload())


@pytest.mark.parametrize(
    ("workload", "token_url", "page", "api"),
    [
        pytest.param(
            _workload("https://github.com/acme/web"),
            f"https://api.github.com/repos/acme/web/{_TOKEN}",
            "https://github.com/acme/web",
            "https://api.github.com",
            id="repository in the address",
        ),
        pytest.param(
            _workload("https://github.com/acme"),
            f"https://api.github.com/orgs/acme/{_TOKEN}",
            "https://github.com/acme",
            "https://api.github.com",
            id="organization in the address",
        ),
        pytest.param(
            _workload("https://github.com", GithubWorkload(repository="other/api")),
            f"https://api.github.com/repos/other/api/{_TOKEN}",
            "https://github.com/other/api",
            "https://api.github.com",
            id="the claim names a repository",
        ),
        pytest.param(
            _workload("https://ghe.example/acme", GithubWorkload(repository="web")),
            f"https://ghe.example/api/v3/repos/acme/web/{_TOKEN}",
            "https://ghe.example/acme/web",
            "https://ghe.example/api/v3",
            id="an enterprise server",
        ),
        pytest.param(
            _workload(
                "https://github.com",
                owner="acme",
                repository="web",
                registrationUrls={"repository": "https://proxy.example/t/{owner}/{repo}"},
            ),
            "https://proxy.example/t/acme/web",
            "https://github.com/acme/web",
            "https://proxy.example",
            id="an address of its own for repositories",
        ),
        pytest.param(
            _workload(
                "https://github.com",
                organization="acme",
                registrationUrls={"organization": "https://proxy.example/o/{org}"},
            ),
            "https://proxy.example/o/acme",
            "https://github.com/acme",
            "https://proxy.example",
            id="an address of its own for organizations",
        ),
    ],
)
def test_a_runner_belongs_to_a_repository_or_an_organization(
    workload: Workload, token_url: str, page: str, api: str
) -> None:
    found = find_registration(workload)
    assert (found.token_url, found.page, found.api) == (token_url, page, api)


def test_a_template_without_a_place_is_refused() -> None:
    with pytest.raises(WorkloadError, match="names no repository or organization"):
        find_registration(_workload("https://github.com"))
    with pytest.raises(WorkloadError, match=r"spec\.bootstrap\.config\.github is missing"):
        find_registration(Workload(method="runner-token"))


def test_the_claim_says_name_group_and_labels_of_its_runner() -> None:
    wanted = GithubWorkload(runner_name="mine", runner_group="gpu", labels=("fast", "linux"))
    workload = _workload("https://github.com/acme", wanted, runner={"labels": ["linux"]})
    registration = Registration(token_url="", page="https://github.com/acme")
    document = build_runner_config(
        _CLAIM, workload, registration=registration, token="t", expires_at="soon"
    )
    labels = document["labels"]
    assert isinstance(labels, list)
    assert (document["runner_name"], document["runner_group"]) == ("mine", "gpu")
    assert labels[-2:] == ["linux", "fast"]
    assert labels.count("linux") == 1


def test_a_runner_is_named_after_its_claim_and_has_no_group() -> None:
    registration = Registration(token_url="", page="https://github.com/acme")
    document = build_runner_config(
        _CLAIM,
        _workload("https://github.com/acme"),
        registration=registration,
        token="t",
        expires_at="",
    )
    assert document["runner_name"] == "one-12345678"
    assert "runner_group" not in document
    assert build_empty_config(_CLAIM)["runner_name"] == "one-12345678"
