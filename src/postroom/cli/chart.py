"""`postroom stats --plot`: the figures as one SVG picture, written by hand."""

from typing import TYPE_CHECKING, NamedTuple

from postroom.cli.letter import bare
from postroom.cli.moment import long
from postroom.cli.output import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable

    from postroom.model.tally import Stats

WIDTH, LEFT, RIGHT, LINE, GAP = 860, 220, 110, 26, 64
MOST = 12  # bars in a panel
LONGEST = 28  # characters of a name
INK, FAINT, GRID = "#1e293b", "#64748b", "#e2e8f0"
COLOURS = ("#c2410c", "#0f766e", "#1d4ed8", "#a16207", "#7e22ce", "#be123c", "#4d7c0f")
OTHERS = "#94a3b8"
SECOND, HOUR, DAY = 1000, 3_600_000, 86_400_000
TICKS = (1, 10, 100, SECOND, 10 * SECOND, 60 * SECOND, HOUR // 6, HOUR, 10 * HOUR, 4 * DAY, 50 * DAY)


class Bar(NamedTuple):
    """One line of a panel: a name, what its length is made of (value and colour), and a text behind it."""

    label: str
    parts: list[tuple[float, str]]
    text: str


def draw(stats: "Stats", here: str) -> str:
    """A whole picture: what was put into each agent, how soon each answers, who writes to whom."""
    colours = _colours(stats)
    panels = [
        _legend(colours),
        *_bars("Characters handed over to each agent, by type", _characters(stats, here, colours)),
        *_spreads("From a request to its answer: median to 95 of 100", stats, here),
        *_bars("Messages, from → to", _pairs(stats, here)),
    ]
    body, y = list[str](), 40
    for height, text in panels:
        body.append(f'<g transform="translate(0 {y})">{text}</g>')
        y += height
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
        f'font-family="system-ui, sans-serif" font-size="13" fill="{INK}">'
        f'<rect width="100%" height="100%" fill="white"/>'
        + _text(24, 36, f"{stats.messages:,} messages in the room", size=19, weight="bold")
        + "".join(body)
        + "</svg>\n"
    )


Panel = tuple[int, str]  # its height, and what is drawn


def _colours(stats: "Stats") -> dict[str, str]:
    """A colour for each of the types that say most; one for all others."""
    totals: dict[str, int] = {}
    for put in stats.put:
        totals[put.type] = totals.get(put.type, 0) + put.characters
    largest = sorted(totals, key=lambda kind: -totals[kind])
    return {kind: COLOURS[n] if n < len(COLOURS) else OTHERS for n, kind in enumerate(largest)}


def _legend(colours: dict[str, str]) -> Panel:
    shown = {kind: colour for kind, colour in colours.items() if colour != OTHERS}
    if len(shown) < len(colours):
        shown["others"] = OTHERS
    x, drawn = 24, list[str]()
    for kind, colour in shown.items():
        drawn.append(f'<rect x="{x}" y="12" width="12" height="12" rx="2" fill="{colour}"/>')
        drawn.append(_text(x + 18, 23, kind, fill=FAINT))
        x += 44 + 7 * len(_short(kind))
    return 56, "".join(drawn)


def _characters(stats: "Stats", here: str, colours: dict[str, str]) -> "Iterable[Bar]":
    by_type: dict[str, dict[str, int]] = {}
    for put in stats.put:
        types = by_type.setdefault(put.recipient, {})
        types[put.type] = types.get(put.type, 0) + put.characters
    for agent in sorted(stats.agents, key=lambda one: -one.characters):
        types = by_type.get(agent.address, {})
        parts = [(float(types[kind]), colour) for kind, colour in colours.items() if kind in types]
        yield Bar(bare(agent.address, here), parts, f"{agent.characters:,}")


def _pairs(stats: "Stats", here: str) -> "Iterable[Bar]":
    for pair in stats.pairs:
        label = f"{bare(pair.sender, here)} → {bare(pair.recipient, here)}"
        yield Bar(label, [(float(pair.messages), COLOURS[1])], f"{pair.messages:,}")


def _bars(title: str, bars: "Iterable[Bar]") -> list[Panel]:
    shown = [bar for bar in bars if sum(value for value, _ in bar.parts)][:MOST]
    if not shown:
        return []
    most = max(sum(value for value, _ in bar.parts) for bar in shown)
    drawn = [_title(title)]
    for n, bar in enumerate(shown):
        x, y = float(LEFT), 30 + n * LINE
        drawn.append(_label(y, bar.label))
        for value, colour in bar.parts:
            wide = value / most * (WIDTH - LEFT - RIGHT)
            drawn.append(f'<rect x="{x:.1f}" y="{y}" width="{wide:.1f}" height="16" fill="{colour}"/>')
            x += wide
        drawn.append(_text(x + 6, y + 13, bar.text, fill=FAINT))
    return [(GAP + len(shown) * LINE, "".join(drawn))]


def _spreads(title: str, stats: "Stats", here: str) -> list[Panel]:
    """A dot at the median and a line to where 95 of 100 are, on a logarithmic scale."""
    shown = [(one.address, one.answer) for one in stats.agents if one.answer is not None][:MOST]
    if not shown:
        return []
    from math import log10

    least, most = min(times.p50 for _, times in shown), max(times.p95 for _, times in shown)
    low = max((tick for tick in TICKS[:-1] if tick <= least), default=1)
    high = min((tick for tick in TICKS if tick > max(low, most)), default=TICKS[-1])

    def at(ms: int) -> float:
        share = log10(min(max(low, ms), high) / low) / log10(high / low)
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    drawn, bottom = [_title(title)], 30 + len(shown) * LINE
    for tick in TICKS[TICKS.index(low) : TICKS.index(high) + 1]:
        drawn.append(f'<path d="M{at(tick):.1f} 26V{bottom}" stroke="{GRID}"/>')
        drawn.append(_text(at(tick), bottom + 14, long(tick / 1000), fill=FAINT, anchor="middle", size=11))
    for n, (address, times) in enumerate(shown):
        y, first, last = 30 + n * LINE, at(times.p50), at(times.p95)
        line = f'd="M{first:.1f} {y + 8}H{last:.1f}" stroke-width="4" opacity=".4"'
        drawn.append(_label(y, bare(address, here)))
        drawn.append(f'<path {line} stroke="{COLOURS[0]}"/>')
        drawn.append(f'<circle cx="{first:.1f}" cy="{y + 8}" r="5" fill="{COLOURS[0]}"/>')
        told = f"{long(times.p50 / 1000)} – {long(times.p95 / 1000)}"
        drawn.append(_text(last + 10, y + 13, told, fill=FAINT))
    return [(GAP + 16 + len(shown) * LINE, "".join(drawn))]


def _title(text: str) -> str:
    return _text(24, 14, text, weight="bold", size=14)


def _label(y: int, text: str) -> str:
    return _text(LEFT - 10, y + 13, text, anchor="end")


def _short(text: str) -> str:
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def _text(
    x: float,
    y: float,
    text: str,
    *,
    fill: str = INK,
    anchor: str = "start",
    weight: str = "normal",
    size: int = 13,
) -> str:
    """Whatever a name holds: it can neither end its element nor be none that XML allows."""
    kept = "".join(c for c in one_line(_short(text) if size == 13 else text) if c.isprintable())
    for mark, name_of_it in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        kept = kept.replace(mark, name_of_it)
    return (
        f'<text x="{x:.1f}" y="{y}" fill="{fill}" text-anchor="{anchor}" font-weight="{weight}" '
        f'font-size="{size}">{kept}</text>'
    )
