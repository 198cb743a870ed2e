"""Features of built-in kinds that are off in older releases: what belongs to them is dropped."""

from quarterdeck.meta.builtins.table import get_release

_ON_SINCE = {"MaxUnavailableStatefulSet": (1, 35), "VolumeAttributesClass": (1, 34)}


def is_on(name: str) -> bool:
    """Whether a feature is on in the release of Kubernetes that this process is."""
    major, minor = get_release().split(".")
    return (int(major), int(minor)) >= _ON_SINCE[name]
