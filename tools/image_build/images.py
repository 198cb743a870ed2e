"""The images of one set of layers, and how a container of each starts."""

from typing import Any

from image_build.debian import USER_ID

COMMANDS = {
    "collector": ("collector",),
    "hub": ("hub",),
    "machine-agent": ("machine-agent",),
    "operator": ("run",),
}
"""The images: the same layers, each with the command it runs by default."""


def build_settings(command: tuple[str, ...]) -> dict[str, Any]:
    """What a container starts, as whom and where."""
    return {
        "User": f"{USER_ID}:{USER_ID}",
        "Env": [
            "PATH=/usr/local/bin:/usr/bin",
            "PYTHONDONTWRITEBYTECODE=1",
            "PYTHONUNBUFFERED=1",
            "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt",
        ],
        "Entrypoint": ["/usr/local/bin/quarterdeck"],
        "Cmd": list(command),
        "WorkingDir": "/home/nonroot",
        "ExposedPorts": {"8080/tcp": {}, "8081/tcp": {}},
        "StopSignal": "SIGTERM",
    }
