"""`python tools/release_versions.py DIST`: do all parts of a release carry one version?

DIST is the folder that `make build` and `make image` fill. Every part that disagrees or is absent
is printed; the exit code is then 1.
"""

import email.parser
import hashlib
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

ROOT = Path(__file__).parents[1]


def main() -> int:
    """Read, compare and print."""
    dist = Path(sys.argv[1])
    found = read_versions(dist)
    problems = compare_versions(found)
    if not problems:
        problems = check_rebuild(dist)
    for each in problems:
        print(f"release-check: {each}", file=sys.stderr)
    if not problems:
        print(f"release-check: {', '.join(found)} carry version {found['package']}")
    return 1 if problems else 0


def compare_versions(found: Mapping[str, str | None]) -> list[str]:
    """What keeps these parts from being one release, in words."""
    wanted = found["package"]
    problems = []
    for part, version in found.items():
        if version is None:
            problems.append(f"{part}: not found; run make image, which builds everything")
        elif (part, version) == ("changelog", "Unreleased"):
            problems.append(f"changelog: the newest heading is Unreleased; name it {wanted}")
        elif version != wanted:
            problems.append(f"{part}: version {version}, expected {wanted} as in the package")
    return problems


def read_versions(dist: Path) -> dict[str, str | None]:
    """The version that each part says it has; None for a part that is not there."""
    readers: dict[str, Callable[[Path], str | None]] = {
        "package": lambda _: search("src/quarterdeck/__init__.py", r'^__version__ = "(.*)"'),
        "changelog": lambda _: search("CHANGELOG.md", r"^## (\S+)"),
        "chart": lambda _: search("charts/quarterdeck/Chart.yaml", r"^version: (\S+)"),
        "chart's appVersion": lambda _: search(
            "charts/quarterdeck/Chart.yaml", r"^appVersion: (\S+)"
        ),
        "wheel": read_wheel,
        "sdist": read_sdist,
        "image": read_image,
        "bill of materials": read_sbom,
    }
    return {part: read(dist) for part, read in readers.items()}


def search(path: str, pattern: str) -> str | None:
    """The first match in a file of the repository."""
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"), flags=re.M)
    return found.group(1) if found else None


def read_wheel(dist: Path) -> str | None:
    """The version in the newest wheel's metadata."""
    wheel = find_newest(dist, "quarterdeck-*.whl")
    if wheel is None:
        return None
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (each for each in archive.namelist() if each.endswith(".dist-info/METADATA"))
        return parse_metadata(archive.read(name))


def read_sdist(dist: Path) -> str | None:
    """The version in the newest sdist's metadata."""
    path = find_newest(dist, "quarterdeck-*.tar.gz")
    if path is None:
        return None
    with tarfile.open(path) as archive:
        content = archive.extractfile(path.name.removesuffix(".tar.gz") + "/PKG-INFO")
        return parse_metadata(content.read()) if content else None


def read_image(dist: Path) -> str | None:
    """The version that all images of the layout have as a label."""
    index = dist / "image/index.json"
    if not index.exists():
        return None
    versions = set()
    for each in json.loads(index.read_bytes())["manifests"]:
        blob = dist / "image/blobs" / each["digest"].replace(":", "/")
        labels = json.loads(blob.read_bytes())["annotations"]
        versions.add(labels["org.opencontainers.image.version"])
    return " and ".join(sorted(versions))


def read_sbom(dist: Path) -> str | None:
    """The version of the product that the bill of materials describes."""
    path = dist / "image.cdx.json"
    if not path.exists():
        return None
    version: str = json.loads(path.read_bytes())["metadata"]["component"]["version"]
    return version


def check_rebuild(dist: Path) -> list[str]:
    """Build the wheel again: the same source must give the same bytes."""
    wheel = find_newest(dist, "quarterdeck-*.whl")
    if wheel is None:
        return ["wheel: not found; run make build"]
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "-d", folder]
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL, env=os.environ)
        (again,) = Path(folder).glob("*.whl")
        if (
            hashlib.sha256(again.read_bytes()).digest()
            != hashlib.sha256(wheel.read_bytes()).digest()
        ):
            return [f"wheel: {wheel.name} is not what the source gives now; run make build again"]
    return []


def parse_metadata(content: bytes) -> str | None:
    """The version in a METADATA or PKG-INFO file."""
    return email.parser.BytesParser().parsebytes(content)["Version"]


def find_newest(dist: Path, pattern: str) -> Path | None:
    """The file that was written last, of those that match."""
    return max(dist.glob(pattern), key=lambda each: each.stat().st_mtime, default=None)


if __name__ == "__main__":
    sys.exit(main())
