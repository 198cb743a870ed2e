"""Every setting, once: its flag, its environment names, its default, its purpose.

The command line, the config file, the environment, `quarterdeck doctor` and the reference page are
all derived from this struct. Flags override the environment, the environment overrides the file.
Settings of one operator alone belong to a struct of its own; see `app/parts.py`.
"""

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from quarterdeck.app.option import HUB, INGESTER, RUN, UP, Option, Port, port_option

LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["", "console", "json"]

DEFAULT_HTTP_PORT = Port(3000)
"""The default plain port of `up`; in `run` it is off unless it is set."""


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Settings of `up` and `run`."""

    data_dir: Annotated[
        Path,
        Option(
            help="Folder of all data.",
            env=("QUARTERDECK_DATA_DIR",),
            commands=(UP,),
            metavar="DIR",
        ),
    ] = Path(".quarterdeck")
    in_memory: Annotated[
        bool,
        Option(help="Store nothing on disk.", env=("QUARTERDECK_IN_MEMORY",), commands=(UP,)),
    ] = False
    operators: Annotated[
        tuple[str, ...],
        Option(
            help="Operators to run, separated by commas.",
            env=("QUARTERDECK_OPERATORS",),
            metavar="A,B",
            default_text="all",
        ),
    ] = ()
    demo: Annotated[
        bool, Option(help="Apply the samples and print what happens.", commands=(UP,))
    ] = False
    controllers_without_kubelet: Annotated[
        bool,
        Option(
            help="Do not simulate nodes: pods of workloads stay Pending.",
            env=("QUARTERDECK_CONTROLLERS_WITHOUT_KUBELET",),
            commands=(UP,),
        ),
    ] = False

    port: Annotated[Port, port_option("HTTPS port of the Kubernetes API", "QUARTERDECK_PORT")] = (
        Port(6443)
    )
    http_port: Annotated[
        Port | None,
        Option(
            help=(
                "Plain HTTP port on loopback for the applications API; other requests are "
                "forwarded to the Kubernetes API."
            ),
            env=("QUARTERDECK_HTTP_PORT",),
            metavar="N",
            default_text="3000 in up, off in run",
        ),
    ] = None
    dashboard_port: Annotated[
        Port, port_option("Port of dashboard and hub", "QUARTERDECK_DASHBOARD_PORT")
    ] = Port(8088)
    fleet_port: Annotated[
        Port, port_option("Port of the fleet server", "QUARTERDECK_FLEET_PORT")
    ] = Port(8089)
    bootstrap_port: Annotated[
        Port, port_option("Port of machine bootstrap", "QUARTERDECK_BOOTSTRAP_PORT")
    ] = Port(8445)
    ingester_port: Annotated[
        Port,
        Option(
            help="Port of the collector ingester; 0 for any free port, others are at least 1024.",
            env=("QUARTERDECK_INGESTER_PORT", "INGESTER_PORT"),
            commands=(UP, RUN, INGESTER),
            metavar="N",
            minimum=1024,
            is_clamped=True,
        ),
    ] = Port(9443)
    webhook_port: Annotated[
        Port,
        port_option(
            "Port of admission webhooks",
            "QUARTERDECK_WEBHOOK_PORT",
            commands=(UP, RUN),
        ),
    ] = Port(9444)
    webhook_cert_path: Annotated[
        Path | None,
        Option(
            help="Folder with tls.crt, tls.key and ca.crt for admission webhooks in a cluster.",
            env=("WEBHOOK_CERT_PATH",),
            commands=(RUN,),
            metavar="DIR",
            default_text="a generated certificate, stored in a Secret",
        ),
    ] = None
    runner_webhook_port: Annotated[
        Port,
        port_option(
            "Port for events of CI systems",
            "QUARTERDECK_RUNNER_WEBHOOK_PORT",
            commands=(UP, RUN),
        ),
    ] = Port(9445)
    metrics_port: Annotated[
        Port, port_option("Port of metrics", "QUARTERDECK_METRICS_PORT", commands=(UP, RUN))
    ] = Port(8080)
    metrics_bind_address: Annotated[
        str,
        Option(
            help="HOST:PORT of metrics instead of --metrics-port; 0 disables metrics.",
            env=("METRICS_BIND_ADDRESS",),
            commands=(UP, RUN, HUB, INGESTER),
            metavar="ADDRESS",
        ),
    ] = ""
    metrics_cert_path: Annotated[
        Path | None,
        Option(
            help="Folder with tls.crt and tls.key for metrics.",
            env=("METRICS_CERT_PATH",),
            commands=(RUN, HUB, INGESTER),
            metavar="DIR",
            default_text="a self-signed certificate",
        ),
    ] = None
    metrics_insecure: Annotated[
        bool,
        Option(
            help="Serve metrics without TLS and authentication; allowed on loopback only.",
            env=("METRICS_INSECURE",),
            commands=(UP, RUN, HUB, INGESTER),
        ),
    ] = False
    health_port: Annotated[
        Port,
        port_option(
            "Port of health checks and of `why`", "QUARTERDECK_HEALTH_PORT", commands=(UP, RUN)
        ),
    ] = Port(8081)
    health_bind_address: Annotated[
        str,
        Option(
            help="HOST:PORT of health instead of --health-port; 0 disables health.",
            env=("HEALTH_PROBE_BIND_ADDRESS",),
            aliases=("--health-probe-bind-address",),
            metavar="ADDRESS",
        ),
    ] = ""

    kubeconfig: Annotated[
        Path | None,
        Option(
            help="Kubeconfig: up writes it, run, hub and ingester read it.",
            commands=(UP, RUN, HUB, INGESTER),
            metavar="PATH",
            default_text="in the data folder for up, as kubectl does for the others",
        ),
    ] = None
    context: Annotated[
        str,
        Option(
            help="Context of the kubeconfig.",
            commands=(RUN, HUB, INGESTER),
            metavar="NAME",
            default_text="the current context",
        ),
    ] = ""
    namespace: Annotated[
        str,
        Option(
            help="Namespaces to watch, separated by commas.",
            env=("NAMESPACE",),
            commands=(RUN,),
            metavar="NAME",
            default_text="all",
        ),
    ] = ""
    leader_elect: Annotated[
        bool,
        Option(
            help="Reconcile only while holding the leader election lease.",
            env=("ENABLE_LEADER_ELECTION",),
            commands=(RUN,),
        ),
    ] = True
    lease_name: Annotated[
        str,
        Option(
            help="Name of the leader election lease.",
            env=("LEASE_NAME",),
            commands=(RUN,),
            metavar="NAME",
        ),
    ] = "quarterdeck"
    lease_namespace: Annotated[
        str,
        Option(
            help="Namespace of the leader election lease.",
            env=("LEASE_NAMESPACE", "POD_NAMESPACE"),
            commands=(RUN,),
            metavar="NAME",
            default_text="the namespace of the pod, else of the kubeconfig",
        ),
    ] = ""
    identity: Annotated[
        str,
        Option(
            help="Name of this replica in the lease.",
            env=("POD_NAME",),
            commands=(RUN,),
            metavar="NAME",
            default_text="host name and a random suffix",
        ),
    ] = ""
    settings_configmap: Annotated[
        str,
        Option(
            help="ConfigMap whose LOG_LEVEL takes effect without a restart.",
            env=("SETTINGS_CONFIGMAP",),
            commands=(RUN,),
            metavar="NS/NAME",
        ),
    ] = ""

    workers: Annotated[
        int,
        Option(
            help="Concurrent reconciles per kind.",
            env=("MAX_CONCURRENT_RECONCILES",),
            metavar="N",
            minimum=1,
            maximum=256,
        ),
    ] = 16
    event_history: Annotated[
        int,
        Option(
            help="Number of events that /events and /watch of the applications API keep.",
            env=("EVENT_HISTORY",),
            metavar="N",
            minimum=1,
            maximum=100_000,
        ),
    ] = 1000
    log_level: Annotated[
        LogLevel,
        Option(
            help="Log level: debug, info, warning or error.",
            env=("LOG_LEVEL",),
            commands=(UP, RUN, HUB, INGESTER),
        ),
    ] = "info"
    log_format: Annotated[
        LogFormat,
        Option(
            help="Log format: console or json.",
            env=("LOG_FORMAT",),
            commands=(UP, RUN, HUB, INGESTER),
            default_text="console on a terminal, else json",
        ),
    ] = ""
