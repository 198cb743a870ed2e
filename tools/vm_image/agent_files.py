"""Collects what the machine agent needs inside the test machine: Python, openssl, tpm2-tools.

    agent_files.py SOURCES FOLDER

Run it with the Python of the distribution: that Python, the modules that the agent imports, the
other programs, and every shared library of them are copied to FOLDER, under their own paths.
SOURCES is the folder of the package `quarterdeck`.
"""

import importlib
import py_compile
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = (
    "/usr/bin/openssl",
    "/usr/bin/tpm2",
    "/usr/lib/x86_64-linux-gnu/libtss2-tcti-device.so.0",
)
TOOLS = (
    "activatecredential", "create", "createek", "flushcontext", "load", "nvread", "pcrread",
    "policysecret", "quote", "readpublic", "startauthsession",
)  # fmt: skip
# imported when they are first used
LATE = ("encodings.idna", "encodings.latin_1", "encodings.ascii", "tarfile", "gzip", "zipimport")
LOADER = "/lib64/ld-linux-x86-64.so.2"


def trace_modules(agent: Path) -> set[Path]:
    """Import everything of the agent; the files of all modules that are loaded then."""
    sys.path.insert(0, str(agent))
    names = sorted(each.stem for each in _find_package(agent.parent).glob("*.py"))
    for name in (*LATE, *(f"quarterdeck.agents.machine.{each}" for each in names)):
        if not name.endswith(("__main__", "bundle")):
            importlib.import_module(name)
    importlib.import_module("quarterdeck.agents.machine.__main__")
    files = (getattr(each, "__file__", None) or "" for each in list(sys.modules.values()))
    return {Path(each) for each in files if each.startswith(("/usr/lib/python", "/usr/bin"))}


def _find_package(folder: Path) -> Path:
    return folder / "unpacked/quarterdeck/agents/machine"


def list_libraries(program: str) -> set[str]:
    done = subprocess.run(["ldd", program], capture_output=True, text=True, check=False)
    words = (line.split() for line in done.stdout.splitlines())
    return {each[2] for each in words if len(each) > 2 and each[2].startswith("/")}


def copy(source: str, folder: Path, name: str = "") -> None:
    target = folder / (name or source).lstrip("/")
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target, follow_symlinks=True)
    target.chmod(0o755)


def collect(sources: Path, folder: Path) -> None:
    sys.path.insert(0, str(sources))
    from quarterdeck.agents.machine.bundle import write_zipapp

    folder.mkdir(parents=True, exist_ok=True)
    agent = folder / "agent.pyz"
    write_zipapp(agent)
    sys.path.remove(str(sources))
    for name in [each for each in sys.modules if each.split(".")[0] == "quarterdeck"]:
        del sys.modules[name]  # import it again, from the one file
    shutil.unpack_archive(agent, folder / "unpacked", "zip")
    programs = {"/usr/bin/python3", *PROGRAMS}
    for file in sorted(trace_modules(agent)):
        if file.suffix == ".py":
            target = folder / str(file.with_suffix(".pyc")).lstrip("/")
            target.parent.mkdir(parents=True, exist_ok=True)
            mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
            py_compile.compile(str(file), str(target), doraise=True, invalidation_mode=mode)
        else:
            programs.add(str(file))
    shutil.rmtree(folder / "unpacked")
    for program in sorted(programs):
        copy(program, folder)
        for library in list_libraries(program):
            copy(library, folder)
    copy(LOADER, folder)
    for tool in TOOLS:  # one program, known by the name it is called by
        target = folder / f"usr/bin/tpm2_{tool}"
        target.write_text(f'#!/bin/busybox sh\nexec /usr/bin/tpm2 {tool} "$@"\n')
        target.chmod(0o755)


if __name__ == "__main__":
    collect(*map(Path, sys.argv[1:]))
