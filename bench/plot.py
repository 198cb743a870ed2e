"""One picture a suite: how each contender does in each case, ours at 1."""

from pathlib import Path
from typing import Any

from bench.suite import OURS


def draw(result: dict[str, Any], folder: Path) -> Path | None:
    """Draw a result as PNG; None without matplotlib or without anything to compare."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    bars = _bars(result)
    if not bars:
        return None
    height = 1.2 + 0.28 * len(bars)
    figure, axes = pyplot.subplots(figsize=(9, height), layout="constrained")
    names = [f"{case}: {contender}" for case, contender, _ in bars]
    values = [times for _, _, times in bars]
    widths = [times - 1 for times in values]
    colors = ["#2c7fb8" if times >= 1 else "#d95f0e" for times in values]
    axes.barh(names, widths, left=1, color=colors)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.invert_yaxis()
    axes.tick_params(labelsize=7)
    axes.set_xlabel(f"times better than the peer (left of 1 we lose), {result['scale']} run")
    axes.set_title(result["title"], fontsize=10)
    path = folder / f"{result['suite']}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return path


def _bars(result: dict[str, Any]) -> list[tuple[str, str, float]]:
    return [
        (case["name"], name, entry["sizes"][-1]["ratio"])
        for case in result["cases"]
        for name, entry in case["contenders"].items()
        if name != OURS and "missing" not in entry and entry["sizes"][-1].get("ratio")
    ]
