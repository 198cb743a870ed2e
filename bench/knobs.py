"""What the command line lets a user turn beside the scale."""

import os

_SOAK = "QUARTERDECK_BENCH_SOAK_MINUTES"


def soak(minutes: float) -> None:
    """Have each server soak for so long."""
    if minutes <= 0:
        raise SystemExit(f"bench: --soak {minutes:g}: must be more than 0 minutes")
    os.environ[_SOAK] = str(minutes)


def soak_s(default_s: float) -> float:
    """How long each server soaks, in seconds."""
    return float(os.environ.get(_SOAK, default_s / 60)) * 60
