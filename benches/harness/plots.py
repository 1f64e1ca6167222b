"""The plots of RESULTS.md, as SVG: the same bytes for the same results."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from . import matrix
from .case import Case
from .peers import PEERS, Peer
from .results import Results

_OURS, _THEIRS = "#b3261e", "#5b6b7a"
#: A colour for each peer, the same in every plot; languages differ in their strokes.
_COLOURS = {one: mpl.colormaps["tab20"](number % 20) for number, one in enumerate(PEERS)}
_STROKES = {"rust": "-", "python": "--", "php": "-.", "node": ":"}


def draw(results: Results, directory: Path) -> dict[str, str]:
    """Draws what was measured; file names by the name of the plot."""
    directory.mkdir(parents=True, exist_ok=True)
    # Ids and text are otherwise random, or outlines of whatever font there is.
    mpl.rcParams.update({"svg.hashsalt": "ratelite", "svg.fonttype": "none", "font.size": 9})
    drawn = {}
    for name, plot in _PLOTS.items():
        figure = Figure(layout="constrained")
        if plot(figure, results):
            figure.savefig(directory / f"{name}.svg", metadata={"Date": None, "Creator": None})
            drawn[name] = f"{directory.name}/{name}.svg"
    return drawn


def _rates(figure: Figure, results: Results) -> bool:
    """Bars of the closed loop, 1 and 8 processes side by side."""
    figure.set_size_inches(10, 6)
    left, right = figure.subplots(1, 2, sharey=True)
    for axes, processes in ((left, 1), (right, matrix.MANY)):
        axes.set_title("1 process" if processes == 1 else f"{processes} processes")
        rates = {
            one: results.of(matrix.uniform(one, processes)).median("rate")
            for one in reversed(PEERS)
            if not one.variant
        }
        _bars(axes, {one: number for one, number in rates.items() if not math.isnan(number)})
        axes.set_xlabel("hits a second, 10,000 keys")
    return bool(left.patches or right.patches)


def _thinking(figure: Figure, results: Results) -> bool:
    """Percentiles of each peer with time to think."""
    figure.set_size_inches(8, 5)
    axes = figure.subplots()
    axes.set_yscale("log")
    names = ("p50_ns", "p99_ns", "p999_ns", "max_ns")
    for case, outcome in results.cases("think time"):
        if outcome.rounds:
            times = [outcome.median(name) / 1e6 for name in names]
            _line(axes, case.peer, range(len(names)), times)
    axes.set_xticks(range(len(names)), ["p50", "p99", "p99.9", "max"])
    axes.set_ylabel("ms a hit")
    return _legend(figure, axes)


def _growth(scenario: str, of: Callable[[Case], int]) -> Callable[[Figure, Results], bool]:
    def plot(figure: Figure, results: Results) -> bool:
        figure.set_size_inches(7, 4)
        axes = figure.subplots()
        axes.set_yscale("log")
        axes.set_xscale("log")
        measured = [(case, out) for case, out in results.cases(scenario) if out.rounds]
        for one in dict.fromkeys(case.peer for case, _ in measured):
            points = sorted(
                (of(case), out.median("rate")) for case, out in measured if case.peer == one
            )
            _line(axes, one, [size for size, _ in points], [number for _, number in points])
        sizes = sorted({of(case) for case, _ in measured})
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], minor=False)
        axes.set_xticks([], minor=True)
        axes.set_xlabel(scenario)
        axes.set_ylabel("hits a second")
        return _legend(figure, axes)

    return plot


def _bars(axes: Axes, rates: dict[Peer, float]) -> None:
    colours = [_OURS if one.ours else _THEIRS for one in rates]
    axes.barh([one.id for one in rates], list(rates.values()), color=colours)
    axes.set_xscale("log")
    axes.grid(axis="x", alpha=0.3)


def _line(axes: Axes, one: Peer, x: object, y: list[float]) -> None:
    width = 3 if one.ours else 1.5
    style = {"color": _COLOURS[one], "linestyle": _STROKES[one.language], "linewidth": width}
    axes.plot(x, y, marker="o", markersize=4, label=one.id, **style)


def _legend(figure: Figure, axes: Axes) -> bool:
    if not axes.lines:
        return False
    axes.grid(alpha=0.3)
    figure.legend(loc="outside right upper", fontsize=8)
    return True


_PLOTS: dict[str, Callable[[Figure, Results], bool]] = {
    "rates": _rates,
    "thinking": _thinking,
    "keys": _growth("keys", lambda case: case.rows),
    "rules": _growth("rules", lambda case: case.rules),
    "processes": _growth("processes", lambda case: case.processes),
}
