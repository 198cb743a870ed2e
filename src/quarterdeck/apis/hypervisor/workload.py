"""What a machine is for: a runner of a CI system, or anything else."""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.meta.markers import Schema
from quarterdeck.meta.objects import Struct

WorkloadType = Literal["github-actions", "gitlab-ci", "buildkite", "generic"]


class GithubWorkload(Struct, frozen=True, kw_only=True):
    """A runner of GitHub Actions."""

    organization: str = ""
    """Organization that the runner serves."""
    repository: str = ""
    """Repository that the runner serves; wins over the organization."""
    labels: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Labels of the runner, beside self-hosted, hyperfleet and ephemeral."""
    runner_group: str = ""
    """Group of the runner."""
    runner_name: str = ""
    """Name of the runner; the claim's name and a part of its UID if left out."""


class GitlabWorkload(Struct, frozen=True, kw_only=True):
    """A runner of GitLab CI."""

    url: Annotated[str, Schema(min_length=1)]
    """Address of the server."""
    project_id: str = ""
    """Project that the runner serves."""
    group_id: str = ""
    """Group that the runner serves."""
    tags: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Tags of the runner."""
    description: str = ""
    """Description of the runner."""


class BuildkiteWorkload(Struct, frozen=True, kw_only=True):
    """An agent of Buildkite."""

    organization: Annotated[str, Schema(min_length=1)]
    """Organization that the agent serves."""
    queue: str = ""
    """Queue that the agent serves."""
    tags: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Tags of the agent."""
    metadata: Mapping[str, str] = {}
    """Further facts about the agent."""


class WorkloadDetails(Struct, frozen=True, kw_only=True):
    """Details of the workload, by its type."""

    github: GithubWorkload | None = None
    """A runner of GitHub Actions."""
    gitlab: GitlabWorkload | None = None
    """A runner of GitLab CI."""
    buildkite: BuildkiteWorkload | None = None
    """An agent of Buildkite."""


class WorkloadConfig(Struct, frozen=True, kw_only=True):
    """What a machine is for."""

    type: Annotated[WorkloadType, Schema(default="generic")] = "generic"
    """Kind of workload."""
    config: WorkloadDetails | None = None
    """Details of the workload."""
