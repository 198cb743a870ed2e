"""What is measured: the table `tool.branch-coverage` of pyproject.toml."""

import fnmatch
import tomllib
from dataclasses import dataclass
from pathlib import Path

from branch_coverage.importer import ProbeFinder


@dataclass(frozen=True)
class Settings:
    """The package, its sources, and files of it that do not count."""

    root: Path
    package: str
    sources: Path
    omit: tuple[str, ...]

    def is_omitted(self, file: Path) -> bool:
        """Whether a file does not count."""
        return any(fnmatch.fnmatch(file.as_posix(), f"*/{pattern}") for pattern in self.omit)

    def build_finder(self) -> ProbeFinder:
        """What imports the package with probes; compiled modules are kept between runs."""
        cache = self.root / "build" / "coverage"
        return ProbeFinder(self.package, is_omitted=self.is_omitted, cache=cache)


def read_settings(root: Path) -> Settings:
    """The settings of the project in a folder."""
    table = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["branch-coverage"]
    return Settings(root, table["package"], root / table["sources"], tuple(table["omit"]))
