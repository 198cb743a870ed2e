"""One picture a suite: how each contender does in each case, ours at 1; or ours alone."""

from pathlib import Path
from typing import Any

from bench.suite import OURS

Bars = dict[str, float]
"""What each is named, and how long it is."""


def draw(result: dict[str, Any], folder: Path) -> Path | None:
    """Draw a result as PNG; None without matplotlib, or if nothing was measured."""
    try:
        import matplotlib
    except ImportError:
        return None
    matplotlib.use("Agg")
    from matplotlib import pyplot, ticker

    bars = _ratios(result)
    show = _show_ratios if bars else _show_values
    bars = bars or _values(result)
    if not bars:
        return None
    figure, axes = pyplot.subplots(figsize=(9, 1.2 + 0.28 * len(bars)), layout="constrained")
    show(axes, bars)
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(ticker.LogFormatter())
    axes.xaxis.set_minor_formatter(ticker.LogFormatter())
    axes.invert_yaxis()
    axes.tick_params(which="both", labelsize=7)
    axes.set_xlabel(f"{axes.get_xlabel()}, {result['scale']} run")
    axes.set_title(result["title"], fontsize=10)
    path = folder / f"{result['suite']}.png"
    figure.savefig(path, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return path


def _show_ratios(axes: Any, bars: Bars) -> None:
    colors = ["#2c7fb8" if times >= 1 else "#d95f0e" for times in bars.values()]
    widths = [times - 1 for times in bars.values()]
    axes.barh(list(bars), widths, left=1, color=colors)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlabel("times better than the peer (left of 1 we lose)")


def _show_values(axes: Any, bars: Bars) -> None:
    drawn = axes.barh(list(bars), list(bars.values()), color="#2c7fb8")
    axes.bar_label(drawn, fmt="%.3g", padding=3, fontsize=7)
    axes.margins(x=0.15)
    axes.set_xlabel("our figures, each in its unit: there is no peer")


def _ratios(result: dict[str, Any]) -> Bars:
    return {
        f"{case['name']}: {name}": entry["sizes"][-1]["ratio"]
        for case in result["cases"]
        for name, entry in case["contenders"].items()
        if name != OURS and "missing" not in entry and entry["sizes"][-1].get("ratio")
    }


def _values(result: dict[str, Any]) -> Bars:
    """What we measured at the largest size; a logarithmic axis has no place for nothing."""
    return {
        f"{case['name']} [{case['unit']}]": entry["sizes"][-1]["median"]
        for case in result["cases"]
        for name, entry in case["contenders"].items()
        if name == OURS and "missing" not in entry and entry["sizes"][-1]["median"] > 0
    }
