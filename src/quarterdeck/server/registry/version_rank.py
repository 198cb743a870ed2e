"""The order of API versions: `v2` before `v1` before `v1beta1`."""

import re

_VERSION = re.compile(r"v(\d+)(?:(alpha|beta)(\d+))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def rank_version(version: str) -> tuple[int, int, int, str]:
    """Return the sort key of a version: stable is higher than beta, alpha and other names."""
    match = _VERSION.fullmatch(version)
    if match is None:
        return (-1, 0, 0, version)
    major, stage, minor = match.groups()
    return (_STAGES[stage], int(major), int(minor or 0), "")
