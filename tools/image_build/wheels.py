"""The layers of Python packages: dependencies by hash, and our own wheel."""

import re
import subprocess
import sys
from pathlib import Path

BUILD_ONLY = (
    *("editables", "hatchling", "packaging", "pathspec", "pluggy", "tomlkit", "trove-classifiers"),
)
"""Pins of constraints-run.txt that only installing from the sources needs."""
SCRIPT = """#!/usr/bin/python{}
import sys

from quarterdeck.cli.main import main

sys.exit(main())
"""


def select_pins(text: str) -> dict[str, str]:
    """The pins of a constraints file that the image needs, each with its hashes, by name."""
    blocks = re.findall(r"^[\w.-]+==(?:.*\\\n)*.*\n?", text, flags=re.M)
    pins = {block.partition("==")[0]: block for block in blocks}
    return {name: block for name, block in pins.items() if name not in BUILD_ONLY}


def parse_version(block: str) -> str:
    """The version of a pin."""
    found = re.match(r"[\w.-]+==([^\s;\\]+)", block)
    if found is None:
        raise ValueError(f"{block!r} is not a pin; expected NAME==VERSION")
    return found.group(1)


def install_dependencies(pins: dict[str, str], root: Path, *, python: str, glibc: int) -> None:
    """Install wheels for Debian's Python, whichever Python runs this."""
    requirements = root.parent / "requirements.txt"
    requirements.write_text("".join(pins.values()), encoding="utf-8")
    cache = Path.home() / ".cache/quarterdeck/wheels"
    pip = [
        *(sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"),
        *("--target", str(find_site(root, python)), "--no-deps", "--no-compile"),
        *("--python-version", python, "--only-binary", ":all:", "--require-hashes"),
        *(word for tag in list_platforms(glibc) for word in ("--platform", tag)),
        *("--requirement", str(requirements)),
    ]
    kept = [*pip, "--no-index", "--find-links", str(cache)]
    if subprocess.run(kept, stderr=subprocess.DEVNULL, check=False).returncode:
        subprocess.run(pip, check=True)


def list_platforms(glibc: int, machine: str = "x86_64") -> list[str]:
    """The tags of wheels that run on this minor version of glibc 2, newest first."""
    return [f"manylinux_2_{n}_{machine}" for n in range(glibc, 4, -1)] + [
        f"manylinux2014_{machine}"
    ]


def install_wheel(wheel: Path, root: Path, python: str) -> None:
    """Install our wheel and its command."""
    command = (sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    site = find_site(root, python)
    options = ("--no-deps", "--no-index", "--no-compile", "--target", str(site))
    subprocess.run([*command, *options, str(wheel)], check=True)
    script = root / "usr/local/bin/quarterdeck"
    script.parent.mkdir(parents=True, exist_ok=True)
    script.write_text(SCRIPT.format(python), encoding="utf-8")
    script.chmod(0o755)


def compile_modules(folder: Path, python: str) -> None:
    """Write byte code, which a read-only root cannot get later; only by the same Python."""
    if python != f"{sys.version_info.major}.{sys.version_info.minor}":
        print(f"image: this is not Python {python}, so modules are not compiled", file=sys.stderr)
        return
    options = ("-q", "-j", "1", "--invalidation-mode", "unchecked-hash")
    # paths of this machine do not belong into tracebacks of the image
    command = [sys.executable, "-m", "compileall", *options, "-s", str(folder), "-p", "/"]
    subprocess.run([*command, str(folder)], check=True)


def find_site(root: Path, python: str) -> Path:
    """Where Debian's Python finds packages that Debian has not installed."""
    return root / f"usr/local/lib/python{python}/dist-packages"
