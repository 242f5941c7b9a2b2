/** How the room does: how much is sent, how soon it is seen, what is not acknowledged, and what fails. */

import { get } from "../api.js";
import { fill, h } from "../element.js";
import { empty, trouble } from "../piece.js";
import { bars, figure, rates, spreads } from "../plot.js";
import { go, here, href, turned } from "../router.js";
import { many, plain } from "../text.js";
import { clock, span } from "../time.js";
import { routeName } from "../word.js";

/** @typedef {import("../desk.js").Desk} Desk */
/** @typedef {Record<string, any>} Numbers */

const AGAIN = 15_000;
const MOST = 20; // names in one plot
const SPANS = /** @type {const} */ ([["24", "A day"], ["72", "Three days"], ["168", "A week"]]);

export class MetricsView {
  title = "Metrics";
  /** @type {Numbers|null} */
  #numbers = null;
  /** @type {{address: string, received: number, acked: number}[]} */
  #agents = [];
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
      const hours = Number(here().params.hours ?? 24);
      const since = new Date(Date.now() - hours * 3_600_000).toISOString();
      const [numbers, stats] = await Promise.all([get("/metrics", { hours }, this.#abort.signal), get("/stats", { since }, this.#abort.signal)]);
      this.#numbers = numbers;
      this.#agents = stats.agents;
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
      numbers ? [this.#figures(numbers), numbers.total_messages ? this.#plots(numbers) : empty("Nothing to count yet", "The plots begin with the first message:", 'postroom send NAME "Hello"'), this.#health(numbers)] : null,
    );
  }

  /** @param {Numbers} n */
  #figures(n) {
    const failures = Object.values(/** @type {Record<string, number>} */ (n.delivery_failures)).reduce((sum, each) => sum + each, 0);
    /** @param {string} name @param {string} value @param {string} [to] @param {boolean} [isBad] */
    const one = (name, value, to, isBad) => h("div", null, h("dt", null, name), h(`dd${isBad ? ".trouble" : ""}`, null, to ? h("a", { href: to }, value) : value));
    return h(
      "dl.figures",
      { "data-key": "figures" },
      one("messages", Number(n.total_messages ?? 0).toLocaleString("en"), href("mail")),
      one("missing acks", Number(n.unacknowledged ?? 0).toLocaleString("en")),
      one("acked of seen", n.ack_rate == null ? "–" : `${Math.round(n.ack_rate * 100)} %`),
      one("to seen, mean", n.avg_latency == null ? "–" : span(n.avg_latency)),
      one("to seen, p95", n.p95_latency == null ? "–" : span(n.p95_latency)),
      one("failures", failures.toLocaleString("en"), href("dead"), failures > 0),
    );
  }

  /** @param {Numbers} n */
  #plots(n) {
    /** @type {{at: string, count: number}[]} */
    const perHour = n.messages_per_hour.map((/** @type {any} */ one) => ({ at: one.hour, count: one.messages }));
    /** @type {import("../plot.js").Spread[]} */
    const routes = n.routes.map((/** @type {any} */ one) => ({ ...one, name: routeName(one.route), count: one.seen }));
    const acks = this.#agents.filter((one) => one.received).sort((a, b) => b.received - a.received).slice(0, MOST).map((one) => ({ name: one.address, got: one.received, acked: one.acked }));
    const inboxes = /** @type {[string, number][]} */ (Object.entries(n.inbox_sizes)).filter(([, count]) => count).sort((a, b) => b[1] - a[1]).slice(0, MOST);
    return [
      perHour.length ? figure("Messages per hour", "What was sent, by the hour it was stored.", bars(perHour, `Messages per hour, at most ${Math.max(...perHour.map((one) => one.count))}`), ["Hour", "Messages"], perHour.map((one) => [clock(one.at), one.count])) : null,
      routes.length ? figure("From sent to seen", "By route. Filled: half were seen by then (p50). Ring: 95 of 100. Stroke: 99 of 100. The scale is logarithmic.", spreads(routes, "Time from sent to seen by route"), ["Route", "Messages", "p50", "p95", "p99"], routes.map((one) => [one.name, one.count, span(one.p50), span(one.p95), span(one.p99)])) : null,
      acks.length ? figure("Acknowledged", "Of what each agent got.", rates(acks.map((one) => ({ name: one.name, part: one.acked, whole: one.got, said: `${one.acked} of ${one.got}, ${Math.round((one.acked / Math.max(1, one.got)) * 100)} %` }))), ["Agent", "Got", "Acknowledged"], acks.map((one) => [one.name, one.got, one.acked])) : null,
      inboxes.length ? figure("Inboxes", "What waits for each now.", rates(inboxes.map(([name, count]) => ({ name, whole: count, said: count.toLocaleString("en") }))), ["Inbox", "Waiting"], inboxes) : null,
      failures(n),
    ];
  }

  /** @param {Numbers} n */
  #health(n) {
    const health = watchers(n.watcher_health);
    return h("section.plot", { "data-key": "health" }, h("h2", null, "Watchers"), h("p.dim", null, "What carries mail and looks after agents, inside of the daemon."), health.length ? h("ul.health", { role: "list" }, health.map((one) => h("li", null, h("i.dot", { "data-state": one.isWell ? "busy" : "stuck", "aria-hidden": "true" }), h("span", null, plain(one.name)), h(`span.word.${one.isWell ? "fine" : "trouble"}`, null, plain(one.state)), h("span.dim", null, plain(one.words))))) : h("p.quiet", null, "None runs."));
  }

  close() {
    clearInterval(this.#timer);
    this.#abort.abort();
  }
}

/** What came to nothing, and when it had been sent. @param {Numbers} n */
function failures(n) {
  const title = "Delivery failures";
  const kinds = /** @type {[string, number][]} */ (Object.entries(n.delivery_failures)).filter(([, count]) => count).map(([kind, count]) => `${count.toLocaleString("en")} ${plain(kind)}`);
  if (!kinds.length) return h("section.plot", { "data-key": title }, h("h2", null, title), h("p.quiet", null, "None: nothing of this time bounced, expired or was given up."));
  /** @type {{at: string, count: number}[]} */
  const perHour = n.messages_per_hour.map((/** @type {any} */ one) => ({ at: one.hour, count: one.failed }));
  return figure(title, `${kinds.join(", ")}. By the hour in which the message was stored.`, bars(perHour, `Delivery failures by the hour: ${kinds.join(", ")}`, "failure", true), ["Hour", "Failures"], perHour.map((one) => [clock(one.at), one.count]));
}

/**
 * What the daemon says of itself, and of those whom it looks after.
 * @param {Record<string, any>} found
 * @returns {{name: string, state: string, words: string, isWell: boolean}[]}
 */
function watchers(found) {
  /** @param {string} name @param {string} state @param {string} words @param {boolean} isWell */
  const line = (name, state, words, isWell) => ({ name, state, words, isWell });
  const { since, agents = 0, crashes = 0, paused = {}, instead = {}, watches, trees, web } = found ?? {};
  if (since === undefined) return [];
  return [
    line("daemon", "running", `for ${span(Date.now() - Number(since))}, looks after ${many(agents, "agent")}`, true),
    ...(crashes ? [line("bridges", `${many(crashes, "crash", "crashes")}`, "each was started again", false)] : []),
    ...(watches?.count || watches?.crashes ? [line("watches", watches.crashes ? many(watches.crashes, "crash", "crashes") : "running", `${many(watches.count, "pane")} watched${watches.crashes ? ", each was begun again" : ""}`, !watches.crashes)] : []),
    ...(trees?.count || trees?.mailboxes ? [line("mailboxes", "served", [many(trees.mailboxes, "mailbox", "mailboxes"), ...(trees.count ? [many(trees.count, "whole tree")] : [])].join(", "), true)] : []),
    ...Object.entries(trees?.trouble ?? {}).map(([place, words]) => line(place, "not looked at", String(words), false)),
    ...(web ? [line("page", web.problem ? "not served" : "served", web.problem ?? web.url ?? "", !web.problem)] : []),
    ...Object.entries(paused).map(([address, words]) => line(address, "waits", String(words), false)),
    ...Object.entries(instead).map(([address, words]) => line(address, "by another route", String(words), false)),
  ];
}
