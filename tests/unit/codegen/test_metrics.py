"""The page of metrics has every metric of every package."""

import re
from pathlib import Path

from quarterdeck.codegen import metrics

SOURCE = Path(__file__).parents[3] / "src/quarterdeck"


def test_every_module_that_declares_metrics_is_on_the_page() -> None:
    (page,) = metrics.build_files()
    listed = set(re.findall(r"^\| `(\w+)` \|", page.text, flags=re.M))
    modules = [each for each in SOURCE.rglob("metrics.py") if "codegen" not in each.parts]
    declared = set()
    for module in modules:
        pattern = r"\.(?:counter|gauge|histogram)\(\s*\"(\w+)\""
        declared |= set(re.findall(pattern, module.read_text()))
    assert len(declared) > 50
    assert declared - listed == set()


def test_rows_say_type_labels_and_meaning() -> None:
    (page,) = metrics.build_files()
    assert (
        "| `fleet_api_requests_total` | counter | `operation` | Calls to a fleet server |"
        in page.text
    )
