"""`/version`: the Kubernetes version that this server emulates."""

import platform

from quarterdeck.kit import json as kit_json

_COMMITS = {"v1.32.4": "59526cd4867447956156ae3a602fcbac10a2c335"}
"""The git commits of the emulated Kubernetes versions."""
_LAST_WITHOUT_EMULATION = 32
"""The last minor version without emulation versions in the document."""
_MACHINES = {"x86_64": "amd64", "AMD64": "amd64", "aarch64": "arm64"}


def build_document(git_version: str) -> bytes:
    """Build the version document, by which clients choose their behavior."""
    major, minor = git_version.removeprefix("v").split(".")[:2]
    machine = _MACHINES.get(platform.machine(), platform.machine())
    newer = {}
    if int(minor) > _LAST_WITHOUT_EMULATION:
        newer = {
            "emulationMajor": major,
            "emulationMinor": minor,
            "minCompatibilityMajor": major,
            "minCompatibilityMinor": str(int(minor) - 1),
        }
    return kit_json.encode(
        {
            "major": major,
            "minor": minor,
            **newer,
            "gitVersion": git_version,
            "gitCommit": _COMMITS.get(git_version, "0" * 40),
            "gitTreeState": "",
            "buildDate": "2025-04-22T15:56:13Z",
            "goVersion": "go1.26.8" if newer else "go1.23.9",
            "compiler": "gc",
            "platform": f"{platform.system().lower()}/{machine}",
        }
    )
