"""What `make run` installs first: little, and the second time without a network."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.full]

ROOT = Path(__file__).parents[2]
SIZE = 150 * 1024 * 1024


def install(venv: Path, cache: Path, *before: str) -> subprocess.CompletedProcess[str]:
    """Do what `make run` does before it starts anything."""
    source = copy_source(venv.parent / "source")
    return subprocess.run(
        [*before, "bash", "tools/venv.sh", sys.executable, str(venv), "run"],
        cwd=source,
        env={"PATH": os.environ["PATH"], "HOME": str(venv.parent), "XDG_CACHE_HOME": str(cache)},
        capture_output=True,
        text=True,
        check=False,
    )


def copy_source(folder: Path) -> Path:
    """A checkout of its own: the environment refers to it, and not to ours."""
    if not folder.exists():
        names = ("src", "tools", "pyproject.toml", "README.md", "LICENSE", "constraints-run.txt")
        for each in names:
            source = ROOT / each
            copy = shutil.copytree if source.is_dir() else shutil.copy
            folder.mkdir(exist_ok=True)
            copy(source, folder / each)
    return folder


def test_the_second_time_needs_no_network(tmp_path: Path) -> None:
    venv, cache = tmp_path / "venv", tmp_path / "cache"
    first = install(venv, cache)
    if first.returncode and "No matching distribution" in first.stderr:
        pytest.skip(f"the package index cannot be reached: {first.stderr[-300:]}")
    assert first.returncode == 0, first.stderr
    assert "packages" in first.stdout, "progress is shown"
    files = [each for each in venv.rglob("*") if each.is_file() and not each.is_symlink()]
    assert sum(each.stat().st_size for each in files) < SIZE
    shutil.rmtree(venv)
    alone = ("unshare", "--net")
    if subprocess.run([*alone, "true"], check=False).returncode:
        pytest.skip("only root may take the network away (unshare --net)")
    again = install(venv, cache, *alone)
    assert again.returncode == 0, again.stderr
    started = subprocess.run([venv / "bin/quarterdeck", "version"], capture_output=True, text=True)
    assert started.returncode == 0 and "0." in started.stdout, started
