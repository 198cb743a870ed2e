"""The release of Kubernetes that this process emulates, and the features of each release.

The release is in an environment variable, for child processes. Code that depends on the release
checks a feature by name: that of its gate in Kubernetes, or our own name for a change without gate.
"""

import functools
import os

RELEASES = {"1.32": "table", "1.36": "table-1.36", "1.37": "table-1.37"}
"""The table of kinds of each release, without its suffix; the first is the default."""
VERSIONS = {"1.32": "v1.32.4", "1.36": "v1.36.3", "1.37": "v1.37.2"}
"""The version of Kubernetes that each table was made from."""
VARIABLE = "QUARTERDECK_KUBERNETES_VERSION"
_NEVER = (9, 0)
"""The release of a feature that is off by default in all supported releases."""
_ON_SINCE = {
    "ContainerRestartRules": (1, 35),
    "ContainerStopSignals": _NEVER,
    "DynamicResourceAllocation": (1, 34),
    "EnvFiles": (1, 35),
    "GenericWorkload": _NEVER,
    "HPAConfigurableTolerance": (1, 35),
    "HostnameOverride": (1, 35),
    "ImageVolume": (1, 35),
    "InPlacePodLevelResourcesVerticalScaling": (1, 36),
    "InPlacePodVerticalScaling": (1, 33),
    "InPlacePodVerticalScalingInitContainers": (1, 36),
    "MaxUnavailableStatefulSet": _NEVER,
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
    "AbsentObjectsAreNotFound": (1, 36),
    "ChangesAreCheckedOnce": (1, 36),
    "ClassesAreImmutable": (1, 36),
    "ComparisonOperatorsAreNamed": (1, 35),
    "DeleteOptionsAreBadRequests": (1, 33),
    "EndpointsAreDeprecated": (1, 33),
    "FormsAreCheckedFirst": (1, 33),
    "GitRepoVolumesAreDisabled": (1, 33),
    "GroupsOfScaleTargets": (1, 36),
    "LabelValuesOfNodeAffinity": (1, 33),
    "ListKeysMayBeAbsent": (1, 34),
    "MembersAreNamedWithEmbedding": (1, 33),
    "MessagesPrintJson": (1, 33),
    "NewerExpressions": (1, 36),
    "NewerMessages": (1, 33),
    "NewerTablesAndWords": (1, 36),
    "PagesAreReadFromTheCache": (1, 36),
    "RevisionHistoryIsMutable": (1, 33),
    "RolesAreCheckedOnce": (1, 36),
    "RulesShowValues": (1, 33),
    "SizesOfValuesInMacros": (1, 33),
    "StatefulSetsAreChecked": (1, 36),
    "TerminatingKindsAreForbidden": (1, 36),
    "VersionsOfListsAreReadAlike": (1, 33),
}
"""The release in which a feature was first on by default."""


def set_release(release: str) -> None:
    """Set the release of this process and of its child processes."""
    os.environ[VARIABLE] = release
    get_release.cache_clear()
    has_feature.cache_clear()


@functools.cache
def get_release() -> str:
    """Return the release of Kubernetes that this process emulates, such as `1.32`."""
    release = os.environ.get(VARIABLE, "")
    return release if release in RELEASES else next(iter(RELEASES))


@functools.cache
def has_feature(name: str) -> bool:
    """Whether a feature is on by default in the release that this process emulates.

    Fields of a feature that is off are dropped, or refused as unknown.
    """
    own = get_release().split(".")
    return (int(own[0]), int(own[1])) >= _ON_SINCE[name]
