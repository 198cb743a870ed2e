"""What a machine does after its start: attestation, and the workload it registers for."""

from typing import Annotated, Literal

import msgspec

from quarterdeck.apis.hypervisor import names
from quarterdeck.apis.hypervisor.references import ObjectReference, SecretKeySelector
from quarterdeck.meta.markers import Int32, Schema
from quarterdeck.meta.objects import Struct

BootstrapMethod = Literal["none", "runner-token", "external-secrets", "join-cluster"]


class TpmPolicy(Struct, frozen=True, kw_only=True):
    """Which TPMs are accepted."""

    trusted_ca_refs: Annotated[tuple[ObjectReference, ...], Schema(list_type="atomic")] = (
        msgspec.field(name="trustedCARefs", default=())
    )
    """Secrets with certificates that endorsement keys must be signed by."""
    ek_hashes: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """SHA-256 digests of accepted endorsement keys."""
    pcr_selection: Annotated[tuple[Int32, ...], Schema(list_type="atomic")] = ()
    """Registers that are quoted."""
    pcr_policy_ref: ObjectReference | None = None
    """ConfigMap with the expected values of the registers."""
    require_ek_cert: Annotated[bool, Schema(default=True)] = msgspec.field(
        name="requireEKCert", default=True
    )
    """Refuse an endorsement key without a certificate."""


class AttestationConfig(Struct, frozen=True, kw_only=True):
    """Details of the attestation."""

    join_token_ttl: Annotated[str, Schema(default="1h", pattern=names.DURATION_PATTERN)] = (
        msgspec.field(name="joinTokenTTL", default="1h")
    )
    """How long a join token is valid."""
    tpm_device: Annotated[str, Schema(default="/dev/tpmrm0")] = "/dev/tpmrm0"
    """Device of the TPM inside the machine."""
    tpm: TpmPolicy | None = None
    """Which TPMs are accepted."""


class Attestation(Struct, frozen=True, kw_only=True):
    """How a machine proves its identity."""

    method: Annotated[str, Schema(default="join-token")] = "join-token"
    """A one-time token (join-token), the TPM of the machine (tpm), both (tpm+token), or a method
    that a package adds to the bootstrap service."""
    config: AttestationConfig | None = None
    """Details of the attestation."""


class GithubApp(Struct, frozen=True, kw_only=True):
    """Credentials of a GitHub App."""

    app_id: SecretKeySelector
    """Id of the app."""
    private_key: SecretKeySelector
    """Private key of the app, PEM."""
    installation_id: SecretKeySelector
    """Id of the installation."""


class GithubUrls(Struct, frozen=True, kw_only=True):
    """Addresses with {owner}, {repo} and {org}."""

    repository: str = ""
    """Address for a repository."""
    organization: str = ""
    """Address for an organization."""


class GithubRunner(Struct, frozen=True, kw_only=True):
    """The runner program inside a machine."""

    download_url: str = ""
    """Address of the runner's archive."""
    install_path: Annotated[str, Schema(default="/opt/actions-runner")] = "/opt/actions-runner"
    """Folder of the runner."""
    work_dir: Annotated[str, Schema(default="/tmp/runner-work")] = "/tmp/runner-work"
    """Folder of jobs."""
    labels: Annotated[tuple[str, ...], Schema(list_type="set")] = ()
    """Labels of the runner."""
    config_script: Annotated[str, Schema(default="config.sh")] = "config.sh"
    """Script that registers the runner."""
    run_script: Annotated[str, Schema(default="run.sh")] = "run.sh"
    """Script that starts the runner."""
    os: Annotated[str, Schema(default="linux")] = "linux"
    """Operating system of the runner."""
    arch: Annotated[str, Schema(default="x64")] = "x64"
    """Architecture of the runner."""


class GithubBootstrap(Struct, frozen=True, kw_only=True):
    """Registration with GitHub Actions."""

    url: Annotated[str, Schema(min_length=1)]
    """Address of the repository or organization."""
    owner: str = ""
    """Owner of the repository."""
    repository: str = ""
    """Repository; wins over the organization."""
    organization: str = ""
    """Organization."""
    app: GithubApp | None = None
    """Credentials of a GitHub App."""
    pat: SecretKeySelector | None = None
    """Personal access token, for development."""
    registration_urls: GithubUrls | None = None
    """Addresses that give registration tokens; GitHub's own if left out."""
    runner_urls: GithubUrls | None = None
    """Addresses that list runners; GitHub's own if left out."""
    runner: GithubRunner | None = None
    """The runner program inside a machine."""


class HttpClientSettings(Struct, frozen=True, kw_only=True):
    """How outside services are called."""

    timeout_seconds: Annotated[Int32, Schema(default=30, minimum=1)] = 30
    """How long one request may take."""


class BootstrapConfig(Struct, frozen=True, kw_only=True):
    """Details of the bootstrap."""

    github: GithubBootstrap | None = None
    """Registration with GitHub Actions."""
    http_client: HttpClientSettings | None = None
    """How outside services are called."""


class Bootstrap(Struct, frozen=True, kw_only=True):
    """What a machine does after its start."""

    method: BootstrapMethod
    """Nothing, register a runner, read external secrets, or join a cluster."""
    config: BootstrapConfig | None = None
    """Details of the bootstrap."""
