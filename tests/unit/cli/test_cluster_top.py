"""The totals of `quarterdeck clusters top`."""

import pytest

from quarterdeck.app.cluster_usage import Usage
from quarterdeck.cli.commands.clusters.top import build_total

GIB = 1024.0**3
MEASURED = Usage(name="a", nodes=2, pods=9, cpu=10, memory=8 * GIB, cpu_used=8, memory_used=2 * GIB)
SILENT = Usage(name="b", nodes=1, pods=1, cpu=30, memory=24 * GIB)


@pytest.mark.parametrize(
    ("clusters", "cpu", "memory"),
    [
        pytest.param((MEASURED, MEASURED), "16.0 (80%)", "4.0Gi (25%)", id="all measured"),
        pytest.param((MEASURED, SILENT), "8.0 (80%)", "2.0Gi (25%)", id="one measured"),
        pytest.param((SILENT, SILENT), "-", "-", id="none measured"),
    ],
)
def test_what_is_used_is_a_share_of_what_is_measured(
    clusters: tuple[Usage, ...], cpu: str, memory: str
) -> None:
    row = build_total(clusters)
    assert (row[0], row[5], row[8]) == ("TOTAL", cpu, memory)
    assert row[3] == f"{sum(each.cpu for each in clusters):.1f}"
