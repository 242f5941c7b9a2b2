/** How the room does: how much is sent, how soon it is seen, what is not acknowledged, and what fails. */

import { get } from "../api.js";
import { fill, h } from "../element.js";
import { empty, trouble } from "../piece.js";
import { bars, figure, rates, spreads, table } from "../plot.js";
import { go, here, href, turned } from "../router.js";
import { plain } from "../text.js";
import { clock, span } from "../time.js";
import { routeName } from "../word.js";

/** @typedef {import("../desk.js").Desk} Desk */
/** @typedef {Record<string, any>} Numbers */

const AGAIN = 15_000;
const SPANS = /** @type {const} */ ([["24", "A day"], ["72", "Three days"], ["168", "A week"]]);

export class MetricsView {
  title = "Metrics";
  /** @type {Numbers|null} */
  #numbers = null;
  /** @type {Error|null} */
  #fault = null;
  #timer;
  #abort = new AbortController();

  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.element = h("div.page.metrics");
    this.element.addEventListener("change", (event) => {
      if (event.target instanceof HTMLSelectElement) go(turned({ hours: event.target.value === "24" ? null : event.target.value }));
    });
    this.#timer = setInterval(() => document.hidden || void this.#load(), AGAIN);
    void this.#load();
    this.#draw();
  }

  turn() {
    void this.#load();
  }

  update() {}

  caughtUp() {
    void this.#load();
  }

  async #load() {
    try {
      this.#numbers = await get("/metrics", { hours: here().params.hours ?? 24 }, this.#abort.signal);
      this.#fault = null;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#fault = /** @type {Error} */ (error);
    }
    this.#draw();
  }

  #draw() {
    const hours = here().params.hours ?? "24";
    const numbers = this.#numbers;
    fill(
      this.element,
      h("div.title", { "data-key": "title" }, h("h1", { tabindex: -1 }, "Metrics"), h("label.span", null, h("span.hidden", null, "Time"), h("select", { name: "hours" }, SPANS.map(([value, name]) => h("option", { value, selected: value === hours }, name))))),
      trouble(this.#fault),
      !numbers && !this.#fault ? h("p.quiet", null, "Counting …") : null,
      numbers ? [this.#figures(numbers), numbers.total_messages ? this.#plots(numbers) : empty("Nothing to count yet", "The plots begin with the first message:", 'postroom send NAME "Hello"')] : null,
    );
  }

  /** @param {Numbers} n */
  #figures(n) {
    const failures = total(n.delivery_failures);
    /** @param {string} name @param {string} value @param {string} [to] @param {boolean} [isBad] */
    const one = (name, value, to, isBad) => h("div", null, h("dt", null, name), h(`dd${isBad ? ".trouble" : ""}`, null, to ? h("a", { href: to }, value) : value));
    return h(
      "dl.figures",
      { "data-key": "figures" },
      one("messages", Number(n.total_messages ?? 0).toLocaleString("en"), href("mail")),
      one("not acknowledged", Number(n.unacknowledged ?? 0).toLocaleString("en")),
      one("seen after, on average", n.avg_latency == null ? "–" : span(n.avg_latency)),
      one("seen after, p95", n.p95_latency == null ? "–" : span(n.p95_latency)),
      one("failures", failures.toLocaleString("en"), href("dead"), failures > 0),
    );
  }

  /** @param {Numbers} n */
  #plots(n) {
    const perHour = hourly(n.messages_per_hour);
    const routes = latency(n);
    const acks = ackRates(n);
    const inboxes = inboxSizes(n.inbox_sizes);
    const failures = Object.entries(n.delivery_failures ?? {}).filter(([key, count]) => key !== "total" && typeof count === "number");
    const health = watchers(n.watcher_health);
    return [
      perHour.length ? figure("Messages per hour", "What was sent, by the hour it was stored.", bars(perHour, `Messages per hour, at most ${Math.max(...perHour.map((one) => one.count))}`), ["Hour", "Messages"], perHour.map((one) => [clock(one.at), one.count])) : null,
      routes.length ? figure("From sent to seen", "By route. Filled: half were seen by then (p50). Ring: 95 of 100. Stroke: 99 of 100. The scale is logarithmic.", spreads(routes, "Time from sent to seen by route"), ["Route", "Messages", "p50", "p95", "p99"], routes.map((one) => [one.name, one.count, span(one.p50), span(one.p95), span(one.p99)])) : null,
      acks.length ? figure("Acknowledged", "Of what each agent got.", rates(acks.map((one) => ({ name: one.name, part: one.acked, whole: one.got, said: `${one.acked} of ${one.got}, ${Math.round((one.acked / Math.max(1, one.got)) * 100)} %` }))), ["Agent", "Got", "Acknowledged"], acks.map((one) => [one.name, one.got, one.acked])) : null,
      inboxes.length ? figure("Inboxes", "What waits for each now.", rates(inboxes.map(([name, count]) => ({ name, whole: count, said: count.toLocaleString("en") }))), ["Inbox", "Waiting"], inboxes) : null,
      failures.length ? h("section.plot", { "data-key": "failures" }, h("h2", null, "Delivery failures"), table(["Kind", "Deliveries"], failures.map(([key, count]) => [key.replaceAll("_", " "), Number(count)]))) : null,
      h("section.plot", { "data-key": "health" }, h("h2", null, "Watchers"), h("p.dim", null, "What carries mail and looks after agents, inside of the daemon."), health.length ? h("ul.health", { role: "list" }, health.map((one) => h("li", null, h("i.dot", { "data-state": one.isWell ? "busy" : "stuck", "aria-hidden": "true" }), h("span", null, plain(one.name)), h(`span.word.${one.isWell ? "fine" : "trouble"}`, null, plain(one.state)), h("span.dim", null, plain(one.words))))) : h("p.quiet", null, "None runs.")),
    ];
  }

  close() {
    clearInterval(this.#timer);
    this.#abort.abort();
  }
}

/** @param {unknown} failures */
function total(failures) {
  if (typeof failures === "number") return failures;
  if (!failures || typeof failures !== "object") return 0;
  const kinds = /** @type {Record<string, unknown>} */ (failures);
  if (typeof kinds.total === "number") return kinds.total;
  return Object.values(kinds).reduce((/** @type {number} */ sum, each) => sum + (typeof each === "number" ? each : 0), 0);
}

/** @param {any} found @returns {{at: string, count: number}[]} */
function hourly(found) {
  const rows = Array.isArray(found) ? found : Object.entries(found ?? {}).map(([at, count]) => ({ hour: at, messages: count }));
  return rows.map((/** @type {any} */ one) => ({ at: String(one.hour ?? one.at), count: Number(one.messages ?? one.count ?? 0) }));
}

/** @param {Numbers} n @returns {import("../plot.js").Spread[]} */
function latency(n) {
  const found = n.latency_by_route ?? n.latency ?? [];
  const rows = Array.isArray(found) ? found : Object.entries(found).map(([route, one]) => ({ route, .../** @type {object} */ (one) }));
  return rows.filter((/** @type {any} */ one) => one.p50 != null).map((/** @type {any} */ one) => ({ name: routeName(one.route), count: Number(one.count ?? one.times ?? 0), p50: one.p50, p95: one.p95, p99: one.p99 ?? one.p95 }));
}

/** @param {Numbers} n @returns {{name: string, got: number, acked: number}[]} */
function ackRates(n) {
  const found = n.ack_rates ?? [];
  const rows = Array.isArray(found) ? found : Object.entries(found).map(([agent, one]) => ({ agent, .../** @type {object} */ (one) }));
  return rows
    .map((/** @type {any} */ one) => ({ name: String(one.agent ?? one.address), got: Number(one.received ?? one.deliveries ?? 0), acked: Number(one.acked ?? 0) }))
    .filter((one) => one.got)
    .sort((a, b) => b.got - a.got)
    .slice(0, 20);
}

/** @param {unknown} found @returns {[string, number][]} */
function inboxSizes(found) {
  return Object.entries(found ?? {})
    .map(([name, count]) => /** @type {[string, number]} */ ([name, Number(count)]))
    .filter(([, count]) => count)
    .sort((a, b) => b[1] - a[1])
    .slice(0, 20);
}

/** @param {unknown} found @returns {{name: string, state: string, words: string, isWell: boolean}[]} */
function watchers(found) {
  const rows = Array.isArray(found) ? found : Object.entries(found ?? {}).map(([name, state]) => (state && typeof state === "object" ? { name, ...state } : { name, state }));
  return rows.map((/** @type {any} */ one) => {
    const state = String(one.state ?? one.status ?? "");
    return { name: String(one.name ?? one.watcher ?? ""), state, words: String(one.words ?? one.detail ?? ""), isWell: one.healthy ?? /^(ok|healthy|running|true|up)$/i.test(state) };
  });
}
