"""Application: an image, a number of replicas and some configuration, kept running.

The fields, names and limits are those that existing manifests use; `ports`, `runPolicy`,
`imagePolicy`, `imagePullSecrets` and the probes are ours and optional.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from quarterdeck.apis.core.containers import Probe
from quarterdeck.apis.core.references import LocalObjectReference
from quarterdeck.meta.conditions import REASON_PATTERN, Condition
from quarterdeck.meta.kinds import AGE, Column, KindInfo, Scale
from quarterdeck.meta.markers import Int32, Int64, Quantity, Schema, Time
from quarterdeck.meta.objects import Object, Struct, always_written
from quarterdeck.meta.schema import Rule

GROUP = "cloudnative.elide.dev"
FINALIZER = "cloudnative.elide.dev/finalizer"

Strategy = Literal["RollingUpdate", "Recreate"]
RunPolicy = Literal["Always", "Once"]
ImagePolicy = Literal["Any", "Trusted"]
Protocol = Literal["TCP", "UDP", "SCTP"]
Phase = Literal["Pending", "Running", "Failed", "Succeeded"]

IMAGE_IS_A_REFERENCE = Rule(
    rule="self.matches('^[^\\\\s]+$')",
    message="image must be an image reference such as nginx:1.27, without blanks",
)
BASE_IMAGES = Rule(
    rule=(
        "!has(self.imagePolicy) || self.imagePolicy != 'Trusted' || "
        "!self.image.matches('^(docker[.]io/)?(library/)?(ubuntu|debian|alpine)([:@].*)?$')"
    ),
    message=(
        "imagePolicy Trusted refuses the bare base images ubuntu, debian and alpine; "
        "use an image of your own"
    ),
    field_path=".image",
)
REGISTRIES = Rule(
    rule=(
        "!has(self.imagePolicy) || self.imagePolicy != 'Trusted' || "
        "self.image.matches('^((docker[.]io|gcr[.]io)/.+|[^/]+|[^/.:]+/.+)$')"
    ),
    message=(
        "imagePolicy Trusted allows images of docker.io (also in short form, such as nginx:latest) "
        "and gcr.io only"
    ),
    field_path=".image",
)
CONFIG_KEYS = Rule(
    rule="self.all(key, key.matches('^[-._a-zA-Z0-9]{1,253}$'))",
    message="config keys may contain only letters, digits, '-', '_' and '.', as in a ConfigMap",
)
PORT_NAMES_DIFFER = Rule(
    rule="self.all(p, !has(p.name) || self.exists_one(q, has(q.name) && q.name == p.name))",
    message="names of ports must be unique",
)


class ResourceAmounts(Struct, frozen=True, kw_only=True):
    """Amounts of the two resources every container uses."""

    cpu: Quantity | None = None
    """Processor time, such as 500m or 2."""
    memory: Quantity | None = None
    """Memory, such as 128Mi or 1Gi."""


class ApplicationResources(Struct, frozen=True, kw_only=True):
    """What each replica needs and may use."""

    requests: ResourceAmounts | None = None
    """What each replica is guaranteed."""
    limits: ResourceAmounts | None = None
    """What each replica may use at most."""


class ApplicationPort(Struct, frozen=True, kw_only=True):
    """A port of the application that its Service offers."""

    port: Annotated[Int32, Schema(minimum=1, maximum=65535)]
    """Port that the Service listens on."""
    name: Annotated[
        str,
        Schema(min_length=1, max_length=15, pattern=r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$"),
    ] = ""
    """Name of the port; made from protocol and number if left out."""
    target_port: Annotated[Int32, Schema(minimum=1, maximum=65535)] | None = None
    """Port that the containers listen on; the same number if left out."""
    protocol: Annotated[Protocol, Schema(default="TCP")] = "TCP"
    """Protocol of the port."""


class ApplicationSpec(
    Struct,
    frozen=True,
    kw_only=True,
):
    """The desired state of an application."""

    replicas: Annotated[Int32, Schema(minimum=0, maximum=100)]
    """How many replicas to run."""
    image: Annotated[str, Schema(min_length=1, max_length=1024, rules=(IMAGE_IS_A_REFERENCE,))]
    """Container image to run."""
    strategy: Annotated[Strategy, Schema(default="RollingUpdate")] = "RollingUpdate"
    """How a change replaces running replicas: one after the other, or all at once."""
    config: Annotated[Mapping[str, str], Schema(max_properties=1000, rules=(CONFIG_KEYS,))] = {}
    """Settings, handed to every replica; a change rolls the replicas."""
    resources: ApplicationResources | None = None
    """What each replica needs and may use."""
    ports: Annotated[
        tuple[ApplicationPort, ...],
        Schema(
            max_items=32,
            list_type="map",
            list_map_keys=("port", "protocol"),
            rules=(PORT_NAMES_DIFFER,),
        ),
    ] = ()
    """Ports to offer through a Service of the application's name; without any there is none."""
    run_policy: Annotated[RunPolicy, Schema(default="Always")] = "Always"
    """Whether the application runs for ever or once: Once runs to its end and then Succeeded."""
    image_policy: Annotated[ImagePolicy, Schema(default="Any")] = "Any"
    """Which images are allowed. Trusted refuses bare base images and foreign registries."""
    image_pull_secrets: Annotated[tuple[LocalObjectReference, ...], Schema(max_items=32)] = ()
    """Secrets of this namespace with the credentials of image registries."""
    liveness_probe: Probe | None = None
    """Restarts a container that fails it."""
    readiness_probe: Probe | None = None
    """Decides whether a replica is ready and gets traffic of the Service."""
    startup_probe: Probe | None = None
    """Holds the other probes back until it succeeds once."""


class ApplicationCondition(Condition, frozen=True, kw_only=True, omit_defaults=True):
    """A condition of an application; other controllers may add their own."""

    reason: Annotated[
        str, Schema(required=False, max_length=1024, pattern=f"^$|{REASON_PATTERN}")
    ] = ""
    """Why the condition last changed, for programs: one CamelCase word."""
    message: Annotated[str, Schema(required=False, max_length=32768)] = ""
    """Details of the last change, for people."""
    last_transition_time: Annotated[Time, Schema(required=False)] = ""
    """When the status last changed from one value to another."""
    last_update_time: Time = ""
    """When the condition was last written."""


class ApplicationStatus(Struct, frozen=True, kw_only=True):
    """The observed state of an application."""

    observed_generation: Annotated[Int64, Schema(minimum=0)] = 0
    """The generation this status was decided on."""
    replicas: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many replicas exist."""
    ready_replicas: Annotated[Int32, Schema(minimum=0)] = always_written(0)
    """How many replicas are ready."""
    phase: Phase | None = None
    """Pending until first reconciled, then Running, Failed or, after one run, Succeeded."""
    label_selector: str = ""
    """Selector of the replicas, for autoscalers."""
    conditions: Annotated[
        tuple[ApplicationCondition, ...], Schema(list_type="map", list_map_keys=("type",))
    ] = ()
    """Ready and Progressing, and whatever others add."""


class Application(Object, frozen=True, kw_only=True):
    """A container image that is kept running in a number of replicas."""

    KIND = KindInfo(
        group=GROUP,
        version="v1",
        kind="Application",
        plural="applications",
        singular="application",
        short_names=("app", "apps"),
        categories=("all",),
        scale=Scale(label_selector=".status.labelSelector"),
        columns=(
            Column(name="Replicas", type="integer", path=".spec.replicas"),
            Column(name="Ready", type="integer", path=".status.readyReplicas"),
            Column(name="Phase", path=".status.phase"),
            Column(name="Image", path=".spec.image", priority=1),
            Column(name="Strategy", path=".spec.strategy", priority=1),
            AGE,
        ),
        selectable=(".spec.image", ".status.phase"),
    )
    spec: Annotated[ApplicationSpec, Schema(rules=(BASE_IMAGES, REGISTRIES))]
    """What should run."""
    status: ApplicationStatus = ApplicationStatus()
    """What runs."""


KINDS: tuple[type[Object], ...] = (Application,)
