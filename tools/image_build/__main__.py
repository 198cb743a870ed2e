"""`python -m image_build --wheel FILE --output FOLDER`: assemble the image."""

import argparse
import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from image_build import debian, images, layout, sbom, wheels

ROOT = Path(__file__).parents[2]
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1580601600"))


def main() -> None:
    """Assemble the image and its SBOM."""
    parser = argparse.ArgumentParser(prog="image_build", description=__doc__)
    parser.add_argument("--wheel", type=Path, required=True, help="Our built wheel.")
    parser.add_argument("--output", type=Path, required=True, help="Folder of the OCI layout.")
    parser.add_argument(
        "--cache", type=Path, default=ROOT / "build/debian", help="Debian packages."
    )
    options = parser.parse_args()
    for tool in ("apt-get", "dpkg-deb", "tar"):
        if shutil.which(tool) is None:
            parser.error(f"{tool} is not installed; the image is assembled on Debian only")
    with tempfile.TemporaryDirectory(prefix="quarterdeck-image-") as folder:
        assemble(options.wheel, options.output, work=Path(folder), cache=options.cache)


def assemble(wheel: Path, output: Path, *, work: Path, cache: Path) -> None:
    """Fill three layers, from what changes seldom to what changes always, and write them."""
    python = debian.find_python_version()
    base, site, own = (work / name for name in ("base", "site", "own"))
    files = debian.download(debian.list_packages(python), cache)
    packages = debian.unpack(files, base)
    debian.finish(base, python)
    pins = wheels.select_pins((ROOT / "constraints-run.txt").read_text(encoding="utf-8"))
    wheels.install_dependencies(pins, site, python=python, glibc=read_glibc(packages))
    wheels.install_wheel(wheel, own, python)
    for each in (base, site, own):
        drop_scripts(each)
        wheels.compile_modules(each, python)
    version = wheel.name.split("-")[1]
    parts = [sbom.name_debian(p.name, p.version, architecture=p.architecture) for p in packages]
    parts += [sbom.name_python(name, wheels.parse_version(pin)) for name, pin in pins.items()]
    document = sbom.build_sbom(
        sbom.name_python("quarterdeck", version), parts, created=layout.format_time(EPOCH)
    )
    write(output, [base, site, own], version=version, document=document)


def write(output: Path, folders: list[Path], *, version: str, document: dict[str, Any]) -> None:
    """Write the layout, one image a command, and the SBOM beside it."""
    shutil.rmtree(output, ignore_errors=True)
    architecture = "amd64"
    written = layout.Layout(output, epoch=EPOCH, architecture=architecture)
    owners = {"home/nonroot": debian.USER_ID}
    layers = [written.add_layer(each, owners) for each in folders]
    labels = {
        "org.opencontainers.image.title": "quarterdeck",
        "org.opencontainers.image.version": version,
        "org.opencontainers.image.licenses": "Apache-2.0",
    }
    for tag, command in images.COMMANDS.items():
        written.add_image(tag, layers, images.build_settings(command), labels)
    written.finish()
    path = output.with_name(output.name + ".cdx.json")
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    size = sum(each.descriptor["size"] for each in layers)
    print(f"image: {output} ({size / 1e6:.0f} MB compressed), SBOM {path}")


def read_glibc(packages: list[debian.Package]) -> int:
    """The minor version of glibc 2 in the image."""
    (version,) = (each.version for each in packages if each.name == "libc6")
    found = re.match(r"2\.(\d+)", version)
    if found is None:
        raise SystemExit(f"image: libc6 has version {version}, expected 2.N")
    return int(found.group(1))


def drop_scripts(root: Path) -> None:
    """Remove commands that pip wrote for the Python of this machine."""
    for each in root.glob("usr/local/lib/python*/dist-packages/bin"):
        shutil.rmtree(each)


if __name__ == "__main__":
    main()
