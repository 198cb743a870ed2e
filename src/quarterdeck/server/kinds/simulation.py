"""The annotations of simulated nodes and pods, which several parts of the server read."""

from typing import Final

PREFIX: Final = "simulate.quarterdeck.dev/"
SIMULATED_NODE: Final = f"{PREFIX}node"
"""The annotation of a node whose kubelet this server simulates."""
NODE_DOWN: Final = f"{PREFIX}down"
"""The annotation that makes a node lose contact; `false` counts as absent."""
LOGS: Final = f"{PREFIX}logs"
"""The annotation with the log lines of a pod; with `.NAME` those of one container."""
LOG_INTERVAL: Final = f"{PREFIX}log-interval"
"""The annotation with the time between two log lines."""
