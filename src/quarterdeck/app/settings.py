"""Every setting there is, once: its flag, its environment names, its default, what it is for.

The command line, the config file, the environment, `quarterdeck doctor` and the reference page are
all read off this struct. Flags win over environment, environment over file, file over default.
"""

from pathlib import Path
from typing import Annotated, Literal, NewType

import msgspec

Port = NewType("Port", int)
LogLevel = Literal["debug", "info", "warning", "error"]
LogFormat = Literal["", "console", "json"]

UP = "up"
RUN = "run"
DEFAULT_HTTP_PORT = Port(3000)
"""Of `up`; in `run` the plain port is off unless it is named."""


class Option(msgspec.Struct, frozen=True, kw_only=True):
    """How a setting is given."""

    help: str
    env: tuple[str, ...] = ()
    """Environment names, the first that is set wins."""
    commands: tuple[str, ...] = (UP, RUN)
    """The commands that have it as a flag."""
    metavar: str = ""


def _port(default: int, what: str, *env: str, commands: tuple[str, ...] = (UP,)) -> Option:
    text = f"{what}; 0 for any free port (default: {default})"
    return Option(help=text, env=env, commands=commands, metavar="N")


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """What `up` and `run` are told."""

    data_dir: Annotated[
        Path,
        Option(
            help="where everything is kept (default: .quarterdeck)",
            env=("QUARTERDECK_DATA_DIR",),
            commands=(UP,),
            metavar="DIR",
        ),
    ] = Path(".quarterdeck")
    in_memory: Annotated[
        bool, Option(help="keep nothing", env=("QUARTERDECK_IN_MEMORY",), commands=(UP,))
    ] = False
    operators: Annotated[
        tuple[str, ...],
        Option(
            help="which operators to run, separated by commas (default: all)",
            env=("QUARTERDECK_OPERATORS",),
            metavar="A,B",
        ),
    ] = ()
    demo: Annotated[
        bool, Option(help="apply the samples and show them converge", commands=(UP,))
    ] = False

    port: Annotated[Port, _port(6443, "HTTPS port of the API", "QUARTERDECK_PORT")] = Port(6443)
    http_port: Annotated[
        Port | None,
        Option(
            help=(
                "plain HTTP on loopback: the applications API, all else passed on to the "
                "Kubernetes API (default: 3000 in up, off in run)"
            ),
            env=("QUARTERDECK_HTTP_PORT",),
            metavar="N",
        ),
    ] = None
    dashboard_port: Annotated[
        Port, _port(8088, "dashboard and hub", "QUARTERDECK_DASHBOARD_PORT")
    ] = Port(8088)
    fleet_port: Annotated[Port, _port(8089, "fleet server", "QUARTERDECK_FLEET_PORT")] = Port(8089)
    bootstrap_port: Annotated[
        Port, _port(8445, "machine bootstrap", "QUARTERDECK_BOOTSTRAP_PORT")
    ] = Port(8445)
    ingester_port: Annotated[
        Port, _port(9443, "collector ingester", "QUARTERDECK_INGESTER_PORT")
    ] = Port(9443)
    webhook_port: Annotated[
        Port,
        _port(9444, "admission webhooks", "QUARTERDECK_WEBHOOK_PORT", commands=(UP, RUN)),
    ] = Port(9444)
    metrics_port: Annotated[
        Port, _port(8080, "metrics", "QUARTERDECK_METRICS_PORT", commands=(UP, RUN))
    ] = Port(8080)
    metrics_bind_address: Annotated[
        str,
        Option(
            help="HOST:PORT of metrics, instead of --metrics-port; 0 switches them off",
            env=("METRICS_BIND_ADDRESS",),
            metavar="ADDRESS",
        ),
    ] = ""
    metrics_cert_path: Annotated[
        Path | None,
        Option(
            help="folder with tls.crt and tls.key for metrics (default: one is made)",
            env=("METRICS_CERT_PATH",),
            commands=(RUN,),
            metavar="DIR",
        ),
    ] = None
    metrics_insecure: Annotated[
        bool,
        Option(
            help="serve metrics without TLS and to everybody, which loopback alone allows",
            env=("METRICS_INSECURE",),
        ),
    ] = False
    health_port: Annotated[
        Port, _port(8081, "health and explain", "QUARTERDECK_HEALTH_PORT", commands=(UP, RUN))
    ] = Port(8081)
    health_bind_address: Annotated[
        str,
        Option(
            help="HOST:PORT of health, instead of --health-port; 0 switches it off",
            env=("HEALTH_PROBE_BIND_ADDRESS",),
            metavar="ADDRESS",
        ),
    ] = ""

    kubeconfig: Annotated[
        Path | None,
        Option(
            help="up: where to write it; run: which one to use (default: as kubectl, KUBECONFIG)",
            metavar="PATH",
        ),
    ] = None
    context: Annotated[
        str, Option(help="context of the kubeconfig", commands=(RUN,), metavar="NAME")
    ] = ""
    namespace: Annotated[
        str,
        Option(
            help="watch only this namespace, or several separated by commas (default: all)",
            env=("NAMESPACE",),
            commands=(RUN,),
            metavar="NAME",
        ),
    ] = ""
    leader_elect: Annotated[
        bool,
        Option(
            help="work only while holding the lease",
            env=("ENABLE_LEADER_ELECTION",),
            commands=(RUN,),
        ),
    ] = True
    lease_name: Annotated[
        str,
        Option(help="name of the lease", env=("LEASE_NAME",), commands=(RUN,), metavar="NAME"),
    ] = "quarterdeck"
    lease_namespace: Annotated[
        str,
        Option(
            help="namespace of the lease (default: the pod's, else that of the kubeconfig)",
            env=("LEASE_NAMESPACE", "POD_NAMESPACE"),
            commands=(RUN,),
            metavar="NAME",
        ),
    ] = ""
    identity: Annotated[
        str,
        Option(
            help="this replica's name in the lease (default: host name and a random suffix)",
            env=("POD_NAME",),
            commands=(RUN,),
            metavar="NAME",
        ),
    ] = ""
    settings_configmap: Annotated[
        str,
        Option(
            help="ConfigMap (NAMESPACE/NAME) whose LOG_LEVEL is followed while running",
            env=("SETTINGS_CONFIGMAP",),
            commands=(RUN,),
            metavar="NS/NAME",
        ),
    ] = ""

    workers: Annotated[
        int,
        Option(
            help="objects of a kind reconciled at once (default: 16)",
            env=("MAX_CONCURRENT_RECONCILES",),
            metavar="N",
        ),
    ] = 16
    event_history: Annotated[
        int,
        Option(
            help="events that /events and /watch remember (default: 1000)",
            env=("EVENT_HISTORY",),
            metavar="N",
        ),
    ] = 1000
    log_level: Annotated[
        LogLevel,
        Option(help="debug, info, warning or error (default: info)", env=("LOG_LEVEL",)),
    ] = "info"
    log_format: Annotated[
        LogFormat,
        Option(
            help="console or json (default: console on a terminal)",
            env=("LOG_FORMAT",),
        ),
    ] = ""
