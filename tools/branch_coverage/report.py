"""How much of the sources ran: by package, and altogether."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from branch_coverage.probes import insert_probes

_HEAD = (
    f"{'package':<14}{'statements':>12}{'missed':>9}{'branches':>11}{'missed':>9}"
    f"{'covered':>10}{'branches':>11}"
)


@dataclass(frozen=True)
class Measure:
    """Statements and branches, and how many of them ran."""

    statements: int = 0
    statements_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def __add__(self, other: "Measure") -> "Measure":
        return Measure(
            self.statements + other.statements,
            self.statements_run + other.statements_run,
            self.branches + other.branches,
            self.branches_run + other.branches_run,
        )

    @property
    def percent(self) -> float:
        """The share of statements and branches that ran: what coverage.py calls branch coverage."""
        total = self.statements + self.branches
        return 100 * (self.statements_run + self.branches_run) / total if total else 100.0

    @property
    def branch_percent(self) -> float:
        """The share of branches alone that ran."""
        return 100 * self.branches_run / self.branches if self.branches else 100.0


def measure_file(file: Path, hits: bytes | None) -> Measure:
    """What of a module ran; `hits` has a byte for each probe, None for a module never imported."""
    module = insert_probes(file.read_bytes())
    ran = hits if hits is not None else bytes(len(module.probes))
    statements = [number for number, probe in enumerate(module.probes) if probe.is_statement]
    return Measure(
        statements=len(statements),
        statements_run=sum(ran[number] for number in statements),
        branches=len(module.branches),
        branches_run=sum(ran[number] for number in module.branches),
    )


def list_missed(files: Iterable[Path], hits: Mapping[Path, bytes]) -> dict[str, list[str]]:
    """The lines of each module that never ran; `past LINE` for an `if` or a loop never left by."""
    result: dict[str, list[str]] = {}
    for file in files:
        probes = insert_probes(file.read_bytes()).probes
        ran = hits.get(file, bytes(len(probes)))
        missed = [probe for probe, hit in zip(probes, ran, strict=True) if not hit]
        if missed:
            result[str(file)] = [
                str(probe.line) if probe.is_statement else f"past {probe.line}" for probe in missed
            ]
    return result


def measure_packages(
    root: Path, files: Iterable[Path], hits: Mapping[Path, bytes]
) -> dict[str, Measure]:
    """The measure of each package directly below `root`; modules of `root` itself are one more."""
    packages: dict[str, Measure] = {}
    for file in files:
        inside = file.relative_to(root)
        name = inside.parts[0] if len(inside.parts) > 1 else root.name
        packages[name] = packages.get(name, Measure()) + measure_file(file, hits.get(file))
    return packages


def merge_hits(total: dict[Path, bytes], part: Mapping[Path, bytes]) -> None:
    """Add what another process ran."""
    for file, hits in part.items():
        known = total.get(file)
        total[file] = hits if known is None else bytes(map(max, known, hits))


def format_table(packages: Mapping[str, Measure]) -> list[str]:
    """A line for each package, the least covered first, and one for everything."""
    rows = sorted(packages.items(), key=lambda item: item[1].percent)
    total = sum(packages.values(), Measure())
    return [_HEAD, *(_format_row(*row) for row in [*rows, ("all", total)])]


def _format_row(name: str, measure: Measure) -> str:
    statements_missed = measure.statements - measure.statements_run
    branches_missed = measure.branches - measure.branches_run
    return (
        f"{name:<14}{measure.statements:>12}{statements_missed:>9}"
        f"{measure.branches:>11}{branches_missed:>9}{measure.percent:>9.1f}%"
        f"{measure.branch_percent:>10.1f}%"
    )
