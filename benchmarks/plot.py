"""The run as one picture: a panel a promise, Postroom in its own colour."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.result import Result, Row

OURS = "#c2410c"
OURS_LIGHT = "#fdba74"
PEER = "#64748b"
PEER_LIGHT = "#cbd5e1"
INK = "#1e293b"
FAINT = "#e2e8f0"

FEWEST = 5
"""Room for so many bars at least, so that two of them do not look like walls."""

WIDTH, PANEL_HEIGHT = 14.0, 4.1

_ABOVE: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
_BEFORE: dict[str, Any] = {"textcoords": "offset points", "ha": "right", "va": "center"}


class Bar(NamedTuple):
    label: str
    value: float
    text: str
    ours: bool


class Panel(NamedTuple):
    case: str
    title: str
    subtitle: str
    draw: Callable[[Any, Result], None]


def draw(results: Sequence[Result], path: Path) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    from matplotlib.layout_engine import ConstrainedLayoutEngine

    by_case = {result.case: result for result in results}
    panels = [panel for panel in PANELS if panel.case in by_case and by_case[panel.case].rows]
    if not panels:
        return
    plt.rcParams.update(
        {"font.size": 9.5, "font.family": "DejaVu Sans", "text.color": INK, "axes.labelcolor": INK}
    )
    lines = (len(panels) + 1) // 2
    layout = ConstrainedLayoutEngine(w_pad=0.2, h_pad=0.2)
    size = (WIDTH, PANEL_HEIGHT * lines)
    figure, axes = plt.subplots(lines, 2, figsize=size, squeeze=False, layout=layout)
    for axis, panel in zip(axes.flat, panels, strict=False):
        panel.draw(axis, by_case[panel.case])
        _dress(axis, panel)
    for axis in axes.flat[len(panels) :]:
        axis.axis("off")
    title = "Postroom and its peers, measured in one run"
    figure.suptitle(title, fontsize=16, fontweight="bold", x=0.012, ha="left")
    figure.savefig(path, dpi=130, facecolor="white")
    plt.close(figure)


def _dress(axis: Any, panel: Panel) -> None:
    axis.annotate(panel.title, (0, 1), (0, 24), fontsize=11.5, fontweight="bold", **_ABOVE)
    axis.annotate(panel.subtitle, (0, 1), (0, 10), fontsize=9, color=PEER, **_ABOVE)
    axis.spines[["top", "right", "left"]].set_visible(False)
    axis.spines["bottom"].set_color(PEER_LIGHT)
    axis.tick_params(axis="y", length=0, labelcolor=INK)
    axis.tick_params(axis="x", which="both", colors=PEER, labelsize=8.5)
    axis.xaxis.set_major_formatter(lambda value, _: f"{value:,.0f}")
    axis.grid(axis="x", color=FAINT, linewidth=0.8)
    axis.set_axisbelow(True)


def _plain(label: str) -> str:
    return label.replace("`", "")


def _ours(row: Row) -> bool:
    return row.name.startswith("postroom") or row.name in {"send", "inbox", "stub"}


def _bars(axis: Any, bars: Sequence[Bar]) -> None:
    colours = [OURS if bar.ours else PEER_LIGHT for bar in bars]
    labels, values = [_plain(bar.label) for bar in bars], [bar.value for bar in bars]
    drawn = axis.barh(labels, values, color=colours, height=0.62)
    axis.bar_label(drawn, [bar.text for bar in bars], padding=5, fontsize=9, color=INK)
    axis.set_ylim(max(len(bars), FEWEST) - 0.4, -0.6)
    axis.set_xlim(0, 1.5 * max(bar.value for bar in bars))


def _simple(key: str, text: Callable[[Row], str]) -> Callable[[Any, Result], None]:
    def panel(axis: Any, result: Result) -> None:
        rows = [row for row in result.rows if key in row.values]
        _bars(axis, [Bar(row.label, row.values[key], text(row), _ours(row)) for row in rows])

    return panel


def _spreads(axis: Any, result: Result) -> None:
    """A dot at p50 and a line to p99, with a tick at p95."""
    for place, row in enumerate(result.rows):
        dark, light = (OURS, OURS_LIGHT) if _ours(row) else (PEER, PEER_LIGHT)
        p50, p95, p99 = (row.values[key] for key in ("p50", "p95", "p99"))
        axis.plot([p50, p99], [place, place], color=light, linewidth=4, solid_capstyle="round")
        axis.plot([p95], [place], marker="|", color=dark, markersize=9, markeredgewidth=1.6)
        axis.plot([p50], [place], marker="o", color=dark, markersize=7)
        axis.annotate(f"{p50:,.0f}", (p50, place), (-8, 0), fontsize=9, **_BEFORE)
    axis.set_yticks(range(len(result.rows)), [_plain(row.label) for row in result.rows])
    axis.set_ylim(max(len(result.rows), FEWEST) - 0.4, -0.8)
    axis.set_xscale("log")
    axis.set_xlim(left=min(row.values["p50"] for row in result.rows) / 3)


def _pairs(axis: Any, result: Result) -> None:
    """Each operation twice: in an empty room and in a full one."""
    bars: list[Bar] = []
    for row in result.rows:
        empty, full = row.values["empty"], row.values["full"]
        bars.append(Bar(f"{row.label}, empty", empty, f"{empty:,.0f}", False))
        bars.append(Bar(f"{row.label}, full", full, f"{full:,.0f}  ({row.values['ratio']:.2f}×)", True))
    _bars(axis, bars)


def _last_text(row: Row) -> str:
    return f"{row.values['last']:,.1f}"


def _startup_text(row: Row) -> str:
    ratio = f"  ({row.values['ratio']:.2f}×)" if "ratio" in row.values else ""
    return f"{row.values['p50']:,.1f}{ratio}"


def _idle_text(row: Row) -> str:
    return f"{row.values['private']:.1f} MB · {row.values['cpu']:.2f} % CPU"


def _rate_text(row: Row) -> str:
    return f"{row.values['rate']:,.0f}"


def _cost_text(row: Row) -> str:
    syncs = f" · {row.values['syncs']:.2f} syncs" if "syncs" in row.values else ""
    return f"{row.values['written']:.1f} KiB{syncs}"


_SPREAD = "dot p50, tick p95, line to p99"

PANELS = (
    Panel("latency", "Delivery", f"send() → in hand in another process, µs · {_SPREAD}", _spreads),
    Panel("ack", "Acknowledgement", f"ack() → the waiting sender knows, µs · {_SPREAD}", _spreads),
    Panel("throughput", "Throughput", "20 senders × 20 receivers, messages/s", _simple("rate", _rate_text)),
    Panel("fanout", "Fan-out", "100 waiting processes, ms to the last", _simple("last", _last_text)),
    Panel("scale", "A full room", "one operation, µs p50, empty room and full room", _pairs),
    Panel("startup", "Start-up", "whole process, ms p50 (× its reference)", _simple("p50", _startup_text)),
    Panel("idle", "Idle", "private memory of a waiter, CPU of 100 together", _simple("private", _idle_text)),
    Panel("cost", "Disk", "KiB written and syncs a message", _simple("written", _cost_text)),
)
