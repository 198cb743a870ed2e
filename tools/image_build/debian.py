"""The base layer: Python and the libraries it needs, from Debian packages."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import NamedTuple

USER_ID = 65532
ROOTS = ("libpython{}-stdlib", "libstdc++6", "ca-certificates", "tzdata")
"""Packages that are wanted for themselves, with the version of Python in place of {}."""
NOT_FOLLOWED = re.compile(
    r"dpkg|tar|perl.*|debconf.*|cdebconf|openssl|media-types|mime-support|mailcap|install-info"
    r"|readline-common|lib(db|gdbm|ncursesw|tinfo|readline|nsl|tirpc).*"
)
"""Dependencies of installation scripts, and of modules of Python that we do not import."""
NOT_KEPT = (
    *("usr/share/man", "usr/share/lintian", "usr/share/gdb", "usr/share/gcc", "usr/share/binfmts"),
    *("usr/share/bug", "usr/share/apport", "usr/sbin", "usr/lib/binfmt.d", "etc/binfmt.d"),
    *("usr/lib/x86_64-linux-gnu/gconv", "usr/lib/aarch64-linux-gnu/gconv"),
)
MODULES_NOT_KEPT = (
    "ensurepip",
    "idlelib",
    "lib2to3",
    "test",
    "tkinter",
    "turtledemo",
    "pydoc_data",
)


class Package(NamedTuple):
    """A Debian package in the image."""

    name: str
    version: str
    architecture: str


def find_python_version() -> str:
    """The version of Python that this release of Debian has, as "3.11"."""
    text = _run("apt-cache", "depends", "python3-minimal")
    found = re.search(r"Depends: python(3\.\d+)-minimal", text)
    if found is None:
        raise SystemExit("image: apt-cache does not list python3-minimal; run apt-get update first")
    return found.group(1)


def list_packages(python: str) -> list[str]:
    """The wanted packages and what they depend on, by name."""
    waiting = [name.format(f"{python}") for name in ROOTS] + [f"python{python}-minimal"]
    names: set[str] = set()
    while waiting:
        names.update(waiting)
        found = parse_depends(_run("apt-cache", "depends", *waiting))
        waiting = sorted(found - names)
    return sorted(names)


def parse_depends(text: str) -> set[str]:
    """The real packages that `apt-cache depends` names, without those that are not followed."""
    names = re.findall(r"^  (?:Pre)?Depends: ([^<\s:]+)", text, flags=re.M)
    return {name for name in names if not NOT_FOLLOWED.fullmatch(name)}


def download(names: list[str], folder: Path) -> list[Path]:
    """Download packages that the folder does not have yet; apt checks their signatures."""
    folder.mkdir(parents=True, exist_ok=True)
    subprocess.run(
        ["apt-get", "download", "--quiet=2", "-o", "APT::Sandbox::User=root", *names],
        cwd=folder,
        check=True,
    )
    files = {_read_field(each, "Package"): each for each in sorted(folder.glob("*.deb"))}
    return [files[name] for name in names]


def unpack(files: list[Path], root: Path) -> list[Package]:
    """Unpack packages into a root, with one tree for / and /usr as Debian has it."""
    for name in ("bin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True, exist_ok=True)
        (root / name).symlink_to(f"usr/{name}")
    for file in files:
        with subprocess.Popen(
            ["dpkg-deb", "--fsys-tarfile", str(file)], stdout=subprocess.PIPE
        ) as archive:
            command = ["tar", "-x", "--keep-directory-symlink", "--no-same-owner", "-C", str(root)]
            subprocess.run(command, stdin=archive.stdout, check=True)
        if archive.returncode:
            raise SystemExit(f"image: dpkg-deb cannot read {file.name}; delete it and try again")
    return [
        Package(*(_read_field(each, name) for name in ("Package", "Version", "Architecture")))
        for each in files
    ]


def finish(root: Path, python: str) -> None:
    """Remove what is not needed at run time, and write what installation scripts would write."""
    unused = [f"usr/lib/python{python}/{name}" for name in MODULES_NOT_KEPT]
    for name in (*NOT_KEPT, *unused):
        shutil.rmtree(root / name, ignore_errors=True)
    for each in (root / "usr/share/doc").rglob("*"):
        if each.is_file() and each.name != "copyright":
            each.unlink()
    authorities = sorted((root / "usr/share/ca-certificates").rglob("*.crt"))
    _write(root / "etc/ssl/certs/ca-certificates.crt", "".join(x.read_text() for x in authorities))
    _write(
        root / "etc/passwd",
        "root:x:0:0:root:/root:/usr/sbin/nologin\n"
        f"nonroot:x:{USER_ID}:{USER_ID}:nonroot:/home/nonroot:/usr/sbin/nologin\n",
    )
    _write(root / "etc/group", f"root:x:0:\nnonroot:x:{USER_ID}:\n")
    _write(root / "etc/nsswitch.conf", "passwd: files\ngroup: files\nhosts: files dns\n")
    for name in ("tmp", "proc", "sys", "dev", "home/nonroot"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "tmp").chmod(0o1777)


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def _read_field(file: Path, name: str) -> str:
    return _run("dpkg-deb", "--field", str(file), name).strip()


def _run(*command: str) -> str:
    return subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
