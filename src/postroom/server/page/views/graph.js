/**
 * Who talks to whom. The names stand in a column; each arc on the right goes down from who writes to who is
 * written to, each on the left goes up. The order is worked out and not left to chance: the same traffic is
 * always drawn the same.
 */

import { get } from "../api.js";
import { fill, h, s } from "../element.js";
import { empty, trouble } from "../piece.js";
import { table } from "../plot.js";
import { go, here, opened, turned } from "../router.js";
import { many, plain } from "../text.js";

/** @typedef {import("../desk.js").Desk} Desk */
/** @typedef {{sender: string, recipient: string, messages: number}} Edge */

const AGAIN = 10_000;
const MOST = 40; // names that can be read
const SPANS = /** @type {const} */ ([["", "All time"], ["1", "An hour"], ["24", "A day"], ["168", "A week"]]);
const EACH = 40;

export class GraphView {
  title = "Who talks to whom";
  /** @type {Edge[]} */
  #edges = [];
  /** @type {Error|null} */
  #fault = null;
  #isLoaded = false;
  #focus = "";
  #timer;
  #abort = new AbortController();

  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.element = h("div.page.graph");
    this.element.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) go(turned({ hours: event.target.value }));
    });
    for (const type of ["pointerover", "focusin"]) this.element.addEventListener(type, (event) => this.#look(event));
    this.element.addEventListener("pointerleave", () => this.#look(null));
    this.#timer = setInterval(() => document.hidden || void this.#load(), AGAIN);
    void this.#load();
    this.update();
  }

  turn() {
    void this.#load();
  }

  caughtUp() {
    void this.#load();
  }

  async #load() {
    const { hours } = here().params;
    const since = hours ? new Date(Date.now() - Number(hours) * 3_600_000).toISOString() : null;
    try {
      const found = await get("/graph", { since }, this.#abort.signal);
      this.#edges = found.edges.map((/** @type {any} */ one) => ({ sender: String(one.sender), recipient: String(one.recipient), messages: Number(one.messages) }));
      this.#fault = null;
      this.#isLoaded = true;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#fault = /** @type {Error} */ (error);
    }
    this.update();
  }

  update() {
    const { hours = "" } = here().params;
    const { names, left } = order(this.#edges);
    const edges = this.#edges.filter((one) => names.includes(one.sender) && names.includes(one.recipient) && one.sender !== one.recipient);
    const loudest = [...this.#edges].sort((a, b) => b.messages - a.messages || a.sender.localeCompare(b.sender));
    fill(
      this.element,
      h("div.title", { "data-key": "title" }, h("h1", { tabindex: -1 }, "Who talks to whom"), h("label.span", null, h("span.hidden", null, "Time"), h("select", { name: "hours" }, SPANS.map(([value, name]) => h("option", { value, selected: value === hours }, name))))),
      trouble(this.#fault),
      this.#isLoaded && !names.length ? empty("Silence", "Nobody has written to anybody in this time.", 'postroom send NAME "Hello"') : null,
      names.length ? h("p.quiet", { "data-key": "legend" }, "Arcs on the right go down, arcs on the left go up. The stronger, the more was sent.", left ? ` ${many(left, "quieter one")} left out.` : "") : null,
      names.length ? h("div.arcs", { "data-key": "arcs" }, this.#draw(names, edges)) : null,
      names.length ? h("details.numbers", { "data-key": "numbers" }, h("summary", null, "As a table"), table(["From", "To", "Messages"], loudest.map((one) => [one.sender, one.recipient, one.messages]))) : null,
    );
  }

  /** @param {string[]} names @param {Edge[]} edges */
  #draw(names, edges) {
    const longest = Math.max(...names.map((name) => short(name).length));
    const half = Math.max(46, Math.min(110, longest * 4.3 + 16));
    const reach = Math.max(1, ...edges.map((one) => Math.abs(names.indexOf(one.sender) - names.indexOf(one.recipient))));
    const room = (this.element.clientWidth || 800) - 48;
    const bow = Math.max(40, Math.min(250, 50 + reach * 26, room / 2 - half - 8)); // so that the names are never made smaller
    const middle = half + bow + 8;
    const tall = names.length * EACH + 16;
    const most = Math.max(1, ...edges.map((one) => one.messages));
    const isAny = names.includes(this.#focus);
    /** @param {string} name */
    const y = (name) => 8 + names.indexOf(name) * EACH + EACH / 2;
    const arcs = [...edges]
      .sort((a, b) => a.messages - b.messages)
      .map((one) => {
        const [from, to] = [names.indexOf(one.sender), names.indexOf(one.recipient)];
        const side = to > from ? 1 : -1;
        const [x, y1, y2] = [middle + side * half, y(one.sender) + side * 3, y(one.recipient) - side * 3];
        const out = x + side * (14 + (Math.abs(to - from) / reach) * (bow - 20)) * 1.25;
        const weight = 1 + Math.sqrt(one.messages / most) * 5;
        const isOf = one.sender === this.#focus || one.recipient === this.#focus;
        return s(
          `g.arc${isAny ? (isOf ? ".near" : ".far") : ""}`,
          { "data-key": `${one.sender} ${one.recipient}` },
          s("path", { d: `M${x} ${y1}C${out} ${y1} ${out} ${y2} ${x + side * 7} ${y2}`, "stroke-width": weight.toFixed(2) }),
          s("path.tip", { d: `M${x + side * 1} ${y2}l${side * 8} -4v8z` }),
          s("title", null, `${one.sender} to ${one.recipient}: ${many(one.messages, "message")}`),
        );
      });
    const labels = names.map((name) => {
      const sent = edges.filter((one) => one.sender === name).reduce((sum, one) => sum + one.messages, 0);
      const got = edges.filter((one) => one.recipient === name).reduce((sum, one) => sum + one.messages, 0);
      return s(
        "a.node",
        { href: opened({ agent: name }), "data-name": name, "data-key": name, "aria-label": `${name}: sent ${sent}, got ${got}` },
        s("rect", { x: middle - half, y: y(name) - EACH / 2, width: half * 2, height: EACH }),
        s("text", { x: middle, y: y(name) + (isAny && name === this.#focus ? 0 : 5), "text-anchor": "middle" }, plain(short(name))),
        isAny && name === this.#focus ? s("text.count", { x: middle, y: y(name) + 13, "text-anchor": "middle" }, `sent ${sent}, got ${got}`) : null,
      );
    });
    return s("svg", { viewBox: `0 0 ${middle * 2} ${tall}`, width: middle * 2, role: "group", "aria-label": "Who talks to whom" }, s("g.all", { "data-key": "arcs" }, arcs), s("g.names", { "data-key": "names" }, labels));
  }

  /** @param {Event|null} event */
  #look(event) {
    const name = event?.target instanceof Element ? (event.target.closest("[data-name]")?.getAttribute("data-name") ?? "") : "";
    if (name === this.#focus) return;
    this.#focus = name;
    this.update();
  }

  close() {
    clearInterval(this.#timer);
    this.#abort.abort();
  }
}

/** @param {string} address */
const short = (address) => (address.length > 26 ? `${address.slice(0, 25)}…` : address);

/**
 * The names from top to bottom, so that those who talk much stand close together.
 * @param {Edge[]} edges
 */
function order(edges) {
  /** @type {Map<string, number>} */
  const loud = new Map();
  for (const one of edges) {
    for (const name of [one.sender, one.recipient]) loud.set(name, (loud.get(name) ?? 0) + one.messages);
  }
  const all = [...loud.keys()].sort((a, b) => (loud.get(b) ?? 0) - (loud.get(a) ?? 0) || a.localeCompare(b));
  const rest = all.slice(0, MOST);
  const [first] = rest;
  if (first === undefined) return { names: [], left: 0 };
  const pull = new Map(edges.map((one) => [`${one.sender}\n${one.recipient}`, one.messages]));
  /** @param {string} a @param {string} b */
  const tie = (a, b) => (pull.get(`${a}\n${b}`) ?? 0) + (pull.get(`${b}\n${a}`) ?? 0);
  const names = [first];
  for (const name of rest.slice(1)) {
    let [best, place] = [Infinity, names.length];
    for (let at = 0; at <= names.length; at += 1) {
      const tried = names.toSpliced(at, 0, name);
      let length = 0;
      for (let a = 0; a < tried.length; a += 1) for (let b = a + 1; b < tried.length; b += 1) length += (b - a) * Math.sqrt(tie(/** @type {string} */ (tried[a]), /** @type {string} */ (tried[b])));
      if (length <= best) [best, place] = [length, at];
    }
    names.splice(place, 0, name);
  }
  return { names, left: all.length - names.length };
}
