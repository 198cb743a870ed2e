"""The options of an API server. Every field documents its unit and when to change it."""

from collections.abc import Mapping
from pathlib import Path

import msgspec


class OidcOptions(msgspec.Struct, frozen=True, kw_only=True):
    """An issuer whose ID tokens are accepted; the fields are kube-apiserver's `--oidc-…` flags."""

    issuer_url: str
    client_id: str
    """The audience that tokens must be for."""
    username_claim: str = "sub"
    username_prefix: str = ""
    """Put before names; empty for `ISSUER#` unless the claim is `email`, `-` for none."""
    groups_claim: str = ""
    groups_prefix: str = ""
    required_claims: Mapping[str, str] = {}
    algorithms: tuple[str, ...] = ("RS256",)
    ca_file: Path | None = None
    """Authorities of the issuer's certificate; those of the system by default."""


def parse_feature_gates(text: str) -> frozenset[str]:
    """The gates that `--feature-gates` switches on: `A=true,B=false`.

    Raises:
        ValueError: for a text of another form.
    """
    return frozenset(name for name, is_on in _parse_gates(text).items() if is_on)


def is_switched_off(text: str, gate: str) -> bool:
    """Whether `--feature-gates` switches a gate off.

    Raises:
        ValueError: for a text of another form.
    """
    return _parse_gates(text).get(gate) is False


def _parse_gates(text: str) -> dict[str, bool]:
    gates: dict[str, bool] = {}
    for part in filter(None, (each.strip() for each in text.split(","))):
        name, _, value = part.partition("=")
        if not name or value.lower() not in ("true", "false"):
            raise ValueError(f"invalid --feature-gates {part!r}: expected NAME=true or NAME=false")
        gates[name] = value.lower() == "true"
    return gates


AGGREGATED_DISCOVERY = "AggregatedDiscoveryEndpoint"
"""The gate of `has_aggregated_discovery`; on unless it is switched off."""


class ServerOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of one API server. The defaults are Kubernetes' where it has them."""

    max_body_bytes: int = 3 * 1024 * 1024
    """Request bodies over this are refused with 413."""

    max_object_bytes: int = 4 * 1024 * 1024
    """Objects over this, defaulted, merged and converted, are refused with 413. etcd takes 1.5 MiB.
    Decoding one stops all threads: at 4 MiB that is a few hundredths of a second."""

    max_patch_operations: int = 10_000
    """JSON patches with more operations are refused with 413."""

    gzip_bytes: int = 128 * 1024
    """Bodies over this are compressed for clients that accept it."""

    stream_bytes: int = 512 * 1024
    """Lists over this are written in pieces, so that one reader never holds up the others."""

    inline_bytes: int = 32 * 1024
    """Bodies and objects over this are read, merged and validated in a thread, so that the others
    are served meanwhile; smaller ones cost less than the way to the thread and back."""

    slice_s: float = 0.002
    """How long one request may compute before the others get a turn."""

    watch_timeout_s: float = 1800.0
    """Watches without `timeoutSeconds` end after one to two times this."""

    bookmark_interval_s: float = 60.0
    """How often a watch with `allowWatchBookmarks` gets a bookmark."""

    watch_buffer_events: int = 4096
    """A watcher that falls further behind is dropped, and its client resumes."""

    watch_buffer_bytes: int = 4 * 1024 * 1024
    """Bytes that one watcher's connection may buffer; then its events wait in the buffer above."""

    watch_buffers_bytes: int = 64 * 1024 * 1024
    """How much may wait in the connections of all watchers together; beyond it each may have
    64 KiB."""

    future_revision_wait_s: float = 3.0
    """How long a read at a revision that has not happened yet waits for it."""

    request_timeout_s: float = 60.0
    """How long an answer waits for what it shows to become durable; then it is a 504."""

    service_accounts: bool = False
    """Whether pods need a service account that exists, and get its token mounted. Something must
    then make the account `default` of each namespace: the life cycle does."""

    lifecycle: bool = True
    """Whether owners, namespaces and events end as in a cluster. Without it nothing happens by
    itself, as with a bare kube-apiserver: for tests that play the controllers themselves."""

    controllers: frozenset[str] | None = None
    """Names of the controllers of the life cycle that run; None for all. `*` is all of them, and
    `-name` all but one, as in kube-controller-manager's `--controllers`."""

    simulate_workloads: bool = False
    """Whether workloads make pods and pods become ready. Without it pods stay Pending. Part of the
    life cycle: nothing is simulated without that."""

    controllers_without_kubelet: bool = False
    """Whether workloads make their pods and the scheduler looks for nodes, and nothing runs the
    pods: a control plane that no node has joined. Pods stay Pending until a user adds a node and
    writes their status. Part of the life cycle; `simulate_workloads` includes it."""

    simulated_nodes: int = 1
    """How many nodes there are for simulated pods, at least."""

    has_system_objects: bool = False
    """Whether the objects exist that a server makes for itself: the Service `kubernetes` with its
    endpoints, APIServices, FlowSchemas and PriorityLevelConfigurations. Tests start without."""

    service_cluster_ip_range: str = "10.96.0.0/12"
    """The network that Services get their addresses from, in CIDR notation. The first address is
    the API's own."""

    certificate_authority: str = ""
    """The PEM certificate clients should trust; every namespace has it as `kube-root-ca.crt`."""

    signing_key: Path | None = None
    """The PEM key that signs the tokens of service accounts; without one a key is generated, and
    tokens end with the server."""

    cluster_signing: tuple[Path, Path] | None = None
    """PEM files of the authority that signs approved certificate requests, and its key; without
    them nothing signs. Part of the life cycle."""

    service_account_keys: tuple[Path, ...] = ()
    """PEM files of further keys whose tokens of service accounts are accepted."""

    service_account_issuer: str = "https://kubernetes.default.svc"
    """The issuer of the tokens of service accounts."""

    audiences: tuple[str, ...] = ()
    """What tokens must be for to open this API; empty for the issuer above."""

    bootstrap_tokens: bool = True
    """Whether tokens that Secrets in `kube-system` hold are accepted."""

    oidc: OidcOptions | None = None
    """An OpenID Connect issuer whose ID tokens are accepted."""

    has_anonymous: bool = True
    """Whether requests without credentials are anonymous; else they get a 401."""

    max_requests_in_flight: int = 600
    """How many requests run at once; more get 429. Watches and masters are not counted."""

    max_requests_per_user: int = 200
    """How many of them may be of one user, those included that wait for a turn."""

    max_running_per_user: int = 32
    """How many requests of one user run at once; further ones wait for these to end."""

    audit_policy: Path | None = None
    """A policy file of the audit log; needs `audit_log`."""

    audit_log: Path | None = None
    """The file of the audit log; without it none is written."""

    audit_log_max_bytes: int = 100 * 1024 * 1024
    """The audit log is rotated before it grows over this."""

    audit_log_max_backups: int = 0
    """How many rotated files of the audit log are kept; 0 for all."""

    audit_log_max_age_days: int = 0
    """How long rotated files of the audit log are kept; 0 for ever."""

    has_roles: bool = True
    """Whether roles authorize requests; without it everything is allowed."""

    always_allow: bool = False
    """Whether everything is allowed although the default roles exist: kube-apiserver's
    `--authorization-mode=RBAC,AlwaysAllow`."""

    enabled_plugins: frozenset[str] = frozenset()
    """Admission plugins to run besides those that are on by default, by Kubernetes' names."""

    disabled_plugins: frozenset[str] = frozenset()
    """Admission plugins not to run; wins over the default."""

    feature_gates: frozenset[str] = frozenset()
    """Feature gates of Kubernetes that are switched on. `MutatingAdmissionPolicy` serves that kind;
    others change nothing."""

    has_aggregated_discovery: bool = True
    """Whether one document may name all groups, versions and resources; clients ask for it."""

    webhook_services: Mapping[str, str] = {}
    """The addresses of the Services of webhooks: `namespace/name` or `namespace/name:port` to
    `host:port`, because this server has no pod network."""

    advertise_address: str = ""
    """`host:port` that legacy discovery names; empty for what the request was sent to."""

    git_version: str = "v1.32.4"
    """The Kubernetes version whose behavior this is; clients read it from `/version`."""
