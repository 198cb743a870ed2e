"""What the releases of Kubernetes differ in: the one place that is asked about it.

A feature has the name of its gate in Kubernetes. What belongs to a feature that is off is dropped,
or refused as if it were not there. Changes without a gate have names of their own.
"""

import functools

from quarterdeck.meta.release import get_release

NEVER = (9, 0)
"""Of a feature that is off by default in all these releases."""
_ON_SINCE = {
    "ContainerRestartRules": (1, 35),
    "ContainerStopSignals": NEVER,
    "DynamicResourceAllocation": (1, 34),
    "EnvFiles": (1, 35),
    "GenericWorkload": NEVER,
    "HPAConfigurableTolerance": (1, 35),
    "HostnameOverride": (1, 35),
    "ImageVolume": (1, 35),
    "InPlacePodLevelResourcesVerticalScaling": (1, 36),
    "InPlacePodVerticalScaling": (1, 33),
    "InPlacePodVerticalScalingInitContainers": (1, 36),
    "MaxUnavailableStatefulSet": NEVER,
    "MutablePodResourcesForSuspendedJobs": (1, 36),
    "NodeDeclaredFeatures": (1, 36),
    "PodCertificateRequest": (1, 37),
    "PodLevelResources": (1, 34),
    "PodLifecycleSleepActionAllowZero": (1, 33),
    "PodObservedGenerationTracking": (1, 34),
    "PreferSameTrafficDistribution": (1, 34),
    "ProcMountType": (1, 33),
    "RelaxedDNSSearchValidation": (1, 33),
    "RelaxedServiceNameValidation": (1, 36),
    "SELinuxChangePolicy": (1, 33),
    "StrictIPCIDRValidation": (1, 36),
    "SupplementalGroupsPolicy": (1, 33),
    "UserNamespacesSupport": (1, 33),
    "VolumeAttributesClass": (1, 34),
    # without a gate
    "ChangesAreCheckedOnce": (1, 36),
    "ClassesAreImmutable": (1, 36),
    "ComparisonOperatorsAreNamed": (1, 35),
    "EndpointsAreDeprecated": (1, 33),
    "GroupsOfScaleTargets": (1, 36),
    "LabelValuesOfNodeAffinity": (1, 33),
    "RevisionHistoryIsMutable": (1, 33),
    "StatefulSetsAreChecked": (1, 36),
    "NewerTablesAndWords": (1, 36),
}
"""The release in which a feature was first on by default."""


def is_on(name: str) -> bool:
    """Whether a feature is on in the release of Kubernetes that this process is."""
    return _list_features(get_release())[name]


@functools.cache
def _list_features(release: str) -> dict[str, bool]:
    major, minor = map(int, release.split("."))
    return {name: (major, minor) >= since for name, since in _ON_SINCE.items()}
