"""Our image as an OCI layout, for tests that start containers of it."""

import os
import subprocess
import sys
from pathlib import Path

from quarterdeck.testing import programs

ROOT = Path(__file__).parents[2]


def find_or_assemble(folder: Path) -> Path:
    """What QUARTERDECK_OCI_LAYOUT names, such as `dist/image`; else it is assembled here."""
    if given := os.environ.get("QUARTERDECK_OCI_LAYOUT"):
        return Path(given).absolute()
    for name in ("apt-get", "dpkg-deb"):
        programs.require(name)
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", str(folder)]
    subprocess.run(build, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    (wheel,) = folder.glob("*.whl")
    command = [sys.executable, "-m", "image_build", "--wheel", str(wheel)]
    subprocess.run(
        [*command, "--output", str(folder / "oci")],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
        check=True,
    )
    return folder / "oci"
