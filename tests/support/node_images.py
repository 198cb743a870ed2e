"""Images for a node without a registry, made of one static program."""

import shutil
from pathlib import Path

from image_build.layout import Layout

from quarterdeck.testing import programs

NAME = "quarterdeck.test/node"
PAUSE = f"{NAME}:pause"
WEB = f"{NAME}:web"
WEB_PORT = 8080
COMMANDS = {
    PAUSE: ("sleep", "2147483647"),
    WEB: ("httpd", "-f", "-p", str(WEB_PORT), "-h", "/www"),
}


def write_layout(folder: Path) -> Path:
    """An OCI layout: what holds a pod's namespaces, and a web server for anybody to run."""
    root = folder / "root"
    for name in ("bin", "www"):
        (root / name).mkdir(parents=True)
    shutil.copy(programs.require("busybox"), root / "bin/busybox")
    (root / "bin/busybox").chmod(0o755)
    (root / "www/index.html").write_text("served by a pod\n")
    written = Layout(folder / "oci", epoch=0)
    layer = written.add_layer(root)
    for image, command in COMMANDS.items():
        settings = {
            "User": "65532:65532",
            "Entrypoint": ["/bin/busybox", *command],
            "StopSignal": "SIGKILL",  # busybox leaves signals to their defaults, which init ignores
        }
        written.add_image(image.rpartition(":")[2], [layer], settings, {})
    written.finish()
    return folder / "oci"
