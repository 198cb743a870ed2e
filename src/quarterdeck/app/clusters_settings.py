"""Settings of the clusters operator: ClusterPulse's variables, with its defaults and minimums."""

from typing import Annotated

import msgspec

from quarterdeck.app.hub_settings import HubSettings
from quarterdeck.app.settings import HUB, INGESTER, RUN, UP, Option
from quarterdeck.kit.redaction import Secret

_DAY_S = 86_400
_EVERYWHERE = (UP, RUN, HUB, INGESTER)
_PUSH = (UP, RUN, INGESTER)


def _number(env: str, text: str, minimum: int, maximum: int = _DAY_S) -> Option:
    return Option(
        help=text, env=(env,), metavar="N", minimum=minimum, maximum=maximum, is_clamped=True
    )


def _fraction(env: str, text: str, maximum: int) -> Option:
    return Option(help=text, env=(env,), metavar="X", maximum=maximum)


def _text(env: str, text: str, metavar: str = "TEXT", default_text: str = "") -> Option:
    return Option(help=text, env=(env,), metavar=metavar, default_text=default_text)


def _shared(option: Option) -> Option:
    """A setting of `quarterdeck hub` and `quarterdeck ingester` too."""
    return msgspec.structs.replace(option, commands=_EVERYWHERE)


def _push(option: Option) -> Option:
    """A setting of `quarterdeck ingester` too."""
    return msgspec.structs.replace(option, commands=_PUSH)


class Settings(HubSettings, frozen=True, kw_only=True):
    """Settings of the operator, and of the hub API beside it."""

    # --- where state and history are kept

    redis_url: Annotated[
        str,
        _shared(
            _text(
                "REDIS_URL",
                "Redis of the hub's state: redis[s][+sentinel|+cluster]://HOST:PORT/...",
                "URL",
                "none; the state is embedded",
            )
        ),
    ] = ""
    redis_host: Annotated[
        str,
        _shared(_text("REDIS_HOST", "Host of Redis, instead of a URL.", "HOST", "none")),
    ] = ""
    redis_port: Annotated[int, _shared(_number("REDIS_PORT", "Port of Redis.", 1, 65535))] = 6379
    redis_password: Annotated[
        Secret[str], _shared(_text("REDIS_PASSWORD", "Password of Redis.", "TEXT"))
    ] = Secret("")
    redis_db: Annotated[int, _shared(_number("REDIS_DB", "Database number of Redis.", 0, 1024))] = 0
    vm_enabled: Annotated[
        bool,
        _shared(Option(help="Keep metric history in VictoriaMetrics.", env=("VM_ENABLED",))),
    ] = False
    vm_endpoint: Annotated[
        str, _shared(_text("VM_ENDPOINT", "Address of VictoriaMetrics.", "URL"))
    ] = "http://victoriametrics:8428"

    cluster_sharding: Annotated[
        bool,
        Option(
            help="Divide the clusters among replicas that use the same Redis.",
            env=("CLUSTER_SHARDING",),
            commands=(RUN,),
        ),
    ] = True

    # --- when

    reconciliation_interval: Annotated[
        int,
        _push(_number("RECONCILIATION_INTERVAL", "Seconds between two readings of a cluster.", 30)),
    ] = 30
    operator_scan_interval: Annotated[
        int,
        _push(_number("OPERATOR_SCAN_INTERVAL", "Seconds between two scans for operators.", 60)),
    ] = 300
    connect_timeout: Annotated[
        int, _number("CONNECT_TIMEOUT", "Time limit of a connection test, in seconds.", 5)
    ] = 10
    cache_ttl: Annotated[
        int, _push(_number("CACHE_TTL", "Seconds until findings expire in the store.", 60))
    ] = 600
    metrics_retention: Annotated[
        int,
        _push(
            _number(
                "METRICS_RETENTION", "Seconds until points of nodes and registries expire.", 300
            )
        ),
    ] = 3600
    policy_validation_interval: Annotated[
        int,
        _number("POLICY_VALIDATION_INTERVAL", "Seconds between two checks of a policy.", 60),
    ] = 300

    # --- what

    resource_collection_enabled: Annotated[
        bool,
        Option(
            help="Keep short lists of pods, workloads and services.",
            env=("RESOURCE_COLLECTION_ENABLED",),
        ),
    ] = True
    max_pods_per_namespace: Annotated[
        int,
        _number(
            "MAX_PODS_PER_NAMESPACE", "Maximum number of pods listed per namespace.", 10, 100_000
        ),
    ] = 100
    max_total_pods: Annotated[
        int, _number("MAX_TOTAL_PODS", "Maximum number of pods listed per cluster.", 50, 1_000_000)
    ] = 1000
    max_deployments: Annotated[
        int,
        _number(
            "MAX_DEPLOYMENTS",
            "Maximum number of Deployments, and of StatefulSets, listed per cluster.",
            10,
            100_000,
        ),
    ] = 500
    max_services: Annotated[
        int, _number("MAX_SERVICES", "Maximum number of Services listed per cluster.", 10, 100_000)
    ] = 500
    max_configmaps: Annotated[
        int,
        _number(
            "MAX_CONFIGMAPS",
            "Maximum number of ConfigMaps, and of Ingresses, listed per cluster.",
            10,
            100_000,
        ),
    ] = 500
    collect_resource_labels: Annotated[
        bool, Option(help="Include labels in the lists.", env=("COLLECT_RESOURCE_LABELS",))
    ] = False
    resource_namespace_filter: Annotated[
        str,
        _text(
            "RESOURCE_NAMESPACE_FILTER",
            "Namespaces of the short lists: names, wildcards, !name to leave out.",
            "A,B",
            "all",
        ),
    ] = ""

    # --- how healthy

    cpu_warning_threshold: Annotated[
        float,
        _fraction("CPU_WARNING_THRESHOLD", "Percentage of requested CPU that is a warning.", 1000),
    ] = 85.0
    cpu_critical_threshold: Annotated[
        float,
        _fraction("CPU_CRITICAL_THRESHOLD", "Percentage of requested CPU that is degraded.", 1000),
    ] = 90.0
    memory_warning_threshold: Annotated[
        float,
        _fraction(
            "MEMORY_WARNING_THRESHOLD", "Percentage of requested memory that is a warning.", 1000
        ),
    ] = 85.0
    memory_critical_threshold: Annotated[
        float,
        _fraction(
            "MEMORY_CRITICAL_THRESHOLD", "Percentage of requested memory that is degraded.", 1000
        ),
    ] = 90.0
    node_unhealthy_threshold: Annotated[
        float,
        _fraction(
            "NODE_UNHEALTHY_THRESHOLD",
            "Share of nodes not ready that is unhealthy, from 0 to 1.",
            1,
        ),
    ] = 0.5

    # --- push mode

    ingester_enabled: Annotated[
        bool, Option(help="Serve collectors of clusters in push mode.", env=("INGESTER_ENABLED",))
    ] = True
    ingester_external: Annotated[
        bool,
        Option(
            help="Leave collectors to `quarterdeck ingester`, which uses the same Redis.",
            env=("INGESTER_EXTERNAL",),
            commands=(RUN,),
        ),
    ] = False
    ingester_tls_enabled: Annotated[
        bool, _push(Option(help="Serve collectors over TLS.", env=("INGESTER_TLS_ENABLED",)))
    ] = True
    ingester_tls_cert: Annotated[
        str, _push(_text("INGESTER_TLS_CERT", "Certificate of the ingester.", "FILE"))
    ] = "/etc/ingester-tls/tls.crt"
    ingester_tls_key: Annotated[
        str, _push(_text("INGESTER_TLS_KEY", "Key file of the ingester.", "FILE"))
    ] = "/etc/ingester-tls/tls.key"
    ingester_tls_client_ca: Annotated[
        str,
        _push(
            _text(
                "INGESTER_TLS_CLIENT_CA",
                "CA certificates that verify collectors; collectors must present a certificate.",
                "FILE",
                "none; a token is enough",
            )
        ),
    ] = ""
    ingester_tls_use_system_ca: Annotated[
        bool,
        Option(
            help="Let collectors verify the ingester with the CAs of their system.",
            env=("INGESTER_TLS_USE_SYSTEM_CA",),
        ),
    ] = False
    ingester_service_name: Annotated[
        str, _text("INGESTER_SERVICE_NAME", "Service of the ingester.", "NAME")
    ] = "clusterpulse-ingester"
    collector_image: Annotated[
        str,
        _text(
            "COLLECTOR_IMAGE",
            "Image of the collectors that the hub deploys.",
            "IMAGE",
            "none; in `up` quarterdeck",
        ),
    ] = ""
    collector_tls_secret: Annotated[
        str,
        _text(
            "COLLECTOR_TLS_SECRET",
            "Secret on managed clusters with the collector's certificate.",
            "NAME",
        ),
    ] = "clusterpulse-collector-tls"
    collector_ca_configmap: Annotated[
        str,
        _text(
            "COLLECTOR_CA_CONFIGMAP",
            "ConfigMap with the CA certificates that verify the ingester.",
            "NAME",
        ),
    ] = "ingester-ca"
    collector_ca_namespace: Annotated[
        str,
        _text("COLLECTOR_CA_NAMESPACE", "Namespace of that ConfigMap.", "NAME", "the hub's"),
    ] = ""
    collector_ca_key: Annotated[
        str, _text("COLLECTOR_CA_KEY", "Key of that ConfigMap.", "NAME")
    ] = "service-ca.crt"
