/** Plots, drawn by hand. Each has its numbers beside it as a table, for those who do not see it. */

import { h, s } from "./element.js";
import { many } from "./text.js";
import { clock, day, hour, span } from "./time.js";

/** @typedef {import("./element.js").Child} Child */

/**
 * @param {string} title
 * @param {string} about
 * @param {Child} drawing
 * @param {string[]} head
 * @param {(string|number)[][]} rows
 */
export function figure(title, about, drawing, head, rows) {
  return h(
    "figure.plot",
    { "data-key": title },
    h("figcaption", null, h("h2", null, title), h("p.dim", null, about)),
    drawing,
    h("details.numbers", null, h("summary", null, "As a table"), table(head, rows)),
  );
}

/** @param {string[]} head @param {(string|number)[][]} rows */
export const table = (head, rows) =>
  h("div.scroll", { tabindex: 0, role: "group", "aria-label": "Table" }, h("table", null, h("thead", null, h("tr", null, head.map((cell) => h("th", { scope: "col" }, cell)))), h("tbody", null, rows.map((cells) => h("tr", null, cells.map((cell, n) => h(n ? "td" : "th", n ? null : { scope: "row" }, cell)))))));

/** In units of which a letter has the same number, however narrow the screen is. */
const width = () => (matchMedia("(max-width: 760px)").matches ? 360 : 720);

const NAME = 36; // the width of an hour or a day below the bars

/** A round number at or above. @param {number} most */
function ceiling(most) {
  if (most <= 4) return 4;
  const size = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 4, 6, 8, 10].map((each) => each * size).find((each) => each >= most) ?? most;
}

/**
 * Bars over time.
 * @param {{at: string, count: number}[]} bars
 * @param {string} label
 * @param {string} [what] one of those that are counted
 * @param {boolean} [isBad]
 */
export function bars(bars, label, what = "message", isBad = false) {
  const [wide, tall, low, from] = [width(), 150, 128, 36];
  const most = ceiling(Math.max(1, ...bars.map((one) => one.count)));
  const step = (wide - from) / Math.max(1, bars.length);
  const thick = Math.max(1, Math.min(22, step - (step > 6 ? 2 : 0.5)));
  /** @param {number} count */
  const y = (count) => low - (count / most) * (low - 12);
  const lines = [0, most / 2, most].map((count) => [
    s("line.rule", { x1: from, x2: wide, y1: y(count), y2: y(count) }),
    s("text.tick", { x: from - 8, y: y(count) + 4, "text-anchor": "end" }, count.toLocaleString("en")),
  ]);
  const every = Math.max(1, Math.ceil((bars.length * 80) / wide));
  const drawn = bars.map((one, n) => {
    const x = from + n * step + (step - thick) / 2;
    const top = one.count ? Math.min(y(one.count), low - 1.5) : low;
    const isDay = bars.length > 48;
    const middle = x + thick / 2;
    const [at, anchor] = !n ? [from, "start" /* clear of the scale */] : middle + NAME / 2 > wide ? [wide, "end"] : [middle, "middle"];
    const isNamed = isDay ? new Date(one.at).getHours() === 0 : n % every === 0;
    return [
      s(`rect.bar${isBad ? ".bad" : ""}`, { x, width: thick, y: top, height: low - top }, s("title", null, `${clock(one.at)}: ${many(one.count, what)}`)),
      isNamed ? s("text.tick", { x: at, y: low + 17, "text-anchor": anchor }, isDay ? day(one.at).split(",")[0]?.slice(0, 3) : hour(one.at)) : null,
    ];
  });
  return s("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": label }, lines, drawn);
}

/** @typedef {{name: string, count: number, p50: number, p95: number, p99: number}} Spread */

const TICKS = [1, 10, 100, 1000, 10_000, 60_000, 600_000, 3_600_000, 36_000_000, 86_400_000];

/**
 * For each row three marks on a scale on which ten times as long is one step.
 * @param {Spread[]} rows milliseconds
 * @param {string} label
 */
export function spreads(rows, label) {
  const longest = Math.max(...rows.map((one) => one.name.length));
  const [wide, from, each, head] = [width(), Math.min(260, Math.max(110, longest * 7.6 + 24)), 34, 26];
  const times = rows.flatMap((one) => [one.p50, one.p99]).map((ms) => Math.max(1, ms));
  const low = TICKS.findLast((tick) => tick <= Math.min(...times)) ?? 1;
  const high = TICKS.find((tick) => tick > low && tick >= Math.max(...times)) ?? Math.max(...times);
  const scale = (wide - from - 20) / Math.log10(high / low);
  /** @param {number} ms */
  const x = (ms) => from + Math.log10(Math.max(low, Math.min(high, ms)) / low) * scale;
  const tall = head + rows.length * each;
  let free = wide; // to the right of it a label stands
  const ticks = TICKS.filter((tick) => tick >= low && tick <= high).reverse().map((tick) => {
    const text = tick === 3_600_000 ? "1 h" : tick === 60_000 ? "1 min" : span(tick).replace(".0", "");
    const long = text.length * 7;
    const isNamed = x(tick) + (tick === high ? 0 : long / 2) <= free;
    if (isNamed) free = x(tick) - (tick === high ? long : long / 2) - 6;
    return [s("line.rule", { x1: x(tick), x2: x(tick), y1: head - 6, y2: tall }), isNamed ? s("text.tick", { x: x(tick), y: 12, "text-anchor": tick === high ? "end" : "middle" }, text) : null];
  });
  const drawn = rows.map((one, n) => {
    const y = head + n * each + each / 2;
    return s(
      "g.spread",
      null,
      s("text.name", { x: 0, y: y + 5 }, one.name),
      s("line.range", { x1: x(one.p50), x2: x(one.p99), y1: y, y2: y }),
      s("circle.p50", { cx: x(one.p50), cy: y, r: 5 }),
      s("circle.p95", { cx: x(one.p95), cy: y, r: 4 }),
      s("line.p99", { x1: x(one.p99), x2: x(one.p99), y1: y - 6, y2: y + 6 }),
      s("title", null, `${one.name}: p50 ${span(one.p50)}, p95 ${span(one.p95)}, p99 ${span(one.p99)}, of ${many(one.count, "message")}`),
    );
  });
  return s("svg", { viewBox: `0 0 ${wide} ${tall}`, role: "img", "aria-label": label }, ticks, drawn);
}

/**
 * Names with a bar each: `part` of `whole`, or `whole` alone.
 * @param {{name: string, part?: number, whole: number, said: string}[]} rows
 */
export function rates(rows) {
  const most = Math.max(1, ...rows.map((one) => one.whole));
  return h(
    "ul.rates",
    { role: "list" },
    rows.map((one) =>
      h(
        "li",
        null,
        h("bdi", null, one.name),
        s("svg", { viewBox: "0 0 200 8", preserveAspectRatio: "none", "aria-hidden": "true" }, s("rect.whole", { width: Math.max(1, (one.whole / most) * 200), height: 8, rx: 1 }), s("rect.part", { width: ((one.part ?? one.whole) / most) * 200, height: 8, rx: 1 })),
        h("span.said", null, one.said),
      ),
    ),
  );
}
