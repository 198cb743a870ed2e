"""Settings of the clusters operator: ClusterPulse's variables, with its defaults and minimums."""

from typing import Annotated

from quarterdeck.app.hub_settings import HubSettings
from quarterdeck.app.option import (
    HUB,
    INGESTER,
    RUN,
    UP,
    Option,
    fraction_option,
    number_option,
    text_option,
)
from quarterdeck.kit.redaction import Secret

_EVERYWHERE = (UP, RUN, HUB, INGESTER)
_PUSH = (UP, RUN, INGESTER)


class Settings(HubSettings, frozen=True, kw_only=True):
    """Settings of the operator, and of the hub API beside it."""

    # --- where state and history are kept

    redis_url: Annotated[
        str,
        text_option(
            "REDIS_URL",
            "Redis of the hub's state: redis[s][+sentinel|+cluster]://HOST:PORT/...",
            metavar="URL",
            default_text="none; the state is embedded",
            commands=_EVERYWHERE,
        ),
    ] = ""
    redis_host: Annotated[
        str,
        text_option(
            "REDIS_HOST",
            "Host of Redis, instead of a URL.",
            metavar="HOST",
            default_text="none",
            commands=_EVERYWHERE,
        ),
    ] = ""
    redis_port: Annotated[
        int,
        number_option(
            "REDIS_PORT", "Port of Redis.", minimum=1, maximum=65535, commands=_EVERYWHERE
        ),
    ] = 6379
    redis_password: Annotated[
        Secret[str],
        text_option("REDIS_PASSWORD", "Password of Redis.", commands=_EVERYWHERE),
    ] = Secret("")
    redis_db: Annotated[
        int,
        number_option(
            "REDIS_DB", "Database number of Redis.", minimum=0, maximum=1024, commands=_EVERYWHERE
        ),
    ] = 0
    vm_enabled: Annotated[
        bool,
        Option(
            help="Keep metric history in VictoriaMetrics.",
            env=("VM_ENABLED",),
            commands=_EVERYWHERE,
        ),
    ] = False
    vm_endpoint: Annotated[
        str,
        text_option(
            "VM_ENDPOINT", "Address of VictoriaMetrics.", metavar="URL", commands=_EVERYWHERE
        ),
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
        number_option(
            "RECONCILIATION_INTERVAL",
            "Seconds between two readings of a cluster.",
            minimum=30,
            commands=_PUSH,
        ),
    ] = 30
    operator_scan_interval: Annotated[
        int,
        number_option(
            "OPERATOR_SCAN_INTERVAL",
            "Seconds between two scans for operators.",
            minimum=60,
            commands=_PUSH,
        ),
    ] = 300
    connect_timeout: Annotated[
        int,
        number_option("CONNECT_TIMEOUT", "Time limit of a connection test, in seconds.", minimum=5),
    ] = 10
    cache_ttl: Annotated[
        int,
        number_option(
            "CACHE_TTL", "Seconds until findings expire in the store.", minimum=60, commands=_PUSH
        ),
    ] = 600
    metrics_retention: Annotated[
        int,
        number_option(
            "METRICS_RETENTION",
            "Seconds until points of nodes and registries expire.",
            minimum=300,
            commands=_PUSH,
        ),
    ] = 3600
    policy_validation_interval: Annotated[
        int,
        number_option(
            "POLICY_VALIDATION_INTERVAL", "Seconds between two checks of a policy.", minimum=60
        ),
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
        number_option(
            "MAX_PODS_PER_NAMESPACE",
            "Maximum number of pods listed per namespace.",
            minimum=10,
            maximum=100_000,
        ),
    ] = 100
    max_total_pods: Annotated[
        int,
        number_option(
            "MAX_TOTAL_PODS",
            "Maximum number of pods listed per cluster.",
            minimum=50,
            maximum=1_000_000,
        ),
    ] = 1000
    max_deployments: Annotated[
        int,
        number_option(
            "MAX_DEPLOYMENTS",
            "Maximum number of Deployments, and of StatefulSets, listed per cluster.",
            minimum=10,
            maximum=100_000,
        ),
    ] = 500
    max_services: Annotated[
        int,
        number_option(
            "MAX_SERVICES",
            "Maximum number of Services listed per cluster.",
            minimum=10,
            maximum=100_000,
        ),
    ] = 500
    max_configmaps: Annotated[
        int,
        number_option(
            "MAX_CONFIGMAPS",
            "Maximum number of ConfigMaps, and of Ingresses, listed per cluster.",
            minimum=10,
            maximum=100_000,
        ),
    ] = 500
    collect_resource_labels: Annotated[
        bool, Option(help="Include labels in the lists.", env=("COLLECT_RESOURCE_LABELS",))
    ] = False
    resource_namespace_filter: Annotated[
        str,
        text_option(
            "RESOURCE_NAMESPACE_FILTER",
            "Namespaces of the short lists: names, wildcards, !name to leave out.",
            metavar="A,B",
            default_text="all",
        ),
    ] = ""

    # --- how healthy

    cpu_warning_threshold: Annotated[
        float,
        fraction_option(
            "CPU_WARNING_THRESHOLD", "Percentage of requested CPU that is a warning.", maximum=1000
        ),
    ] = 85.0
    cpu_critical_threshold: Annotated[
        float,
        fraction_option(
            "CPU_CRITICAL_THRESHOLD", "Percentage of requested CPU that is degraded.", maximum=1000
        ),
    ] = 90.0
    memory_warning_threshold: Annotated[
        float,
        fraction_option(
            "MEMORY_WARNING_THRESHOLD",
            "Percentage of requested memory that is a warning.",
            maximum=1000,
        ),
    ] = 85.0
    memory_critical_threshold: Annotated[
        float,
        fraction_option(
            "MEMORY_CRITICAL_THRESHOLD",
            "Percentage of requested memory that is degraded.",
            maximum=1000,
        ),
    ] = 90.0
    node_unhealthy_threshold: Annotated[
        float,
        fraction_option(
            "NODE_UNHEALTHY_THRESHOLD",
            "Share of nodes not ready that is unhealthy, from 0 to 1.",
            maximum=1,
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
        bool,
        Option(help="Serve collectors over TLS.", env=("INGESTER_TLS_ENABLED",), commands=_PUSH),
    ] = True
    ingester_tls_cert: Annotated[
        str,
        text_option(
            "INGESTER_TLS_CERT", "Certificate of the ingester.", metavar="FILE", commands=_PUSH
        ),
    ] = "/etc/ingester-tls/tls.crt"
    ingester_tls_key: Annotated[
        str,
        text_option(
            "INGESTER_TLS_KEY", "Key file of the ingester.", metavar="FILE", commands=_PUSH
        ),
    ] = "/etc/ingester-tls/tls.key"
    ingester_tls_client_ca: Annotated[
        str,
        text_option(
            "INGESTER_TLS_CLIENT_CA",
            "CA certificates that verify collectors; collectors must present a certificate.",
            metavar="FILE",
            default_text="none; a token is enough",
            commands=_PUSH,
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
        str, text_option("INGESTER_SERVICE_NAME", "Service of the ingester.", metavar="NAME")
    ] = "clusterpulse-ingester"
    collector_image: Annotated[
        str,
        text_option(
            "COLLECTOR_IMAGE",
            "Image of the collectors that the hub deploys.",
            metavar="IMAGE",
            default_text="none; in `up` quarterdeck",
        ),
    ] = ""
    collector_tls_secret: Annotated[
        str,
        text_option(
            "COLLECTOR_TLS_SECRET",
            "Secret on managed clusters with the collector's certificate.",
            metavar="NAME",
        ),
    ] = "clusterpulse-collector-tls"
    collector_ca_configmap: Annotated[
        str,
        text_option(
            "COLLECTOR_CA_CONFIGMAP",
            "ConfigMap with the CA certificates that verify the ingester.",
            metavar="NAME",
        ),
    ] = "ingester-ca"
    collector_ca_namespace: Annotated[
        str,
        text_option(
            "COLLECTOR_CA_NAMESPACE",
            "Namespace of that ConfigMap.",
            metavar="NAME",
            default_text="the hub's",
        ),
    ] = ""
    collector_ca_key: Annotated[
        str, text_option("COLLECTOR_CA_KEY", "Key of that ConfigMap.", metavar="NAME")
    ] = "service-ca.crt"
