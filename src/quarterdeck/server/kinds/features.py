"""What the releases of Kubernetes differ in: the one place that is asked about it.

A feature has the name of its gate in Kubernetes. What belongs to a feature that is off is dropped,
or refused as if it were not there. Changes without a gate have names of their own.
"""

from quarterdeck.meta.builtins.table import get_release

_ON_SINCE = {
    "ContainerRestartRules": (1, 35),
    "HostnameOverride": (1, 35),
    "ImageVolume": (1, 35),
    "InPlacePodLevelResourcesVerticalScaling": (1, 36),
    "InPlacePodVerticalScaling": (1, 33),
    "InPlacePodVerticalScalingInitContainers": (1, 36),
    "MaxUnavailableStatefulSet": (1, 35),
    "PodLevelResources": (1, 34),
    "PodObservedGenerationTracking": (1, 34),
    "VolumeAttributesClass": (1, 34),
}
"""The release in which a feature was first on by default."""


def is_on(name: str) -> bool:
    """Whether a feature is on in the release of Kubernetes that this process is."""
    major, minor = get_release().split(".")
    return (int(major), int(minor)) >= _ON_SINCE[name]
