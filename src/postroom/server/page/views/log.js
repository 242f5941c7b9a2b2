/** The mail: everything that was sent, newest first, as it comes. */

import { fill, h } from "../element.js";
import { Feed } from "../feed.js";
import { VirtualList } from "../list.js";
import { button, command, empty, row, trouble } from "../piece.js";
import { attach, inbox, sorted } from "../presence.js";
import { go, here, href, opened, turned } from "../router.js";
import { sieve } from "../sieve.js";
import { gist, many, plain } from "../text.js";

/** @typedef {import("../store.js").Brief} Brief */
/** @typedef {import("../desk.js").Desk} Desk */

const STATES = ["stored", "offered", "seen", "acked", "bounced", "expired", "withdrawn", "dead"];
const FILTERS = /** @type {const} */ (["project", "topic", "with", "type", "state", "q"]);
const MOST = 4; // of a kind that are named above the mail
const TYPED = 250; // milliseconds after the last key

export class LogView {
  title = "Mail";
  /** @type {Feed} */
  #feed;
  /** @type {string} */
  #filter = "";
  #unseen = 0;
  #isDrawn = false;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #typing;

  /** @param {Desk} desk @param {Record<string, string>} params */
  constructor(desk, params) {
    this.desk = desk;
    this.element = h("div.log");
    this.head = h("div.head-of-log");
    this.foot = h("div.foot-of-log");
    /** @type {VirtualList<Brief>} */
    this.list = new VirtualList(this.element, (message, isCurrent) => this.#row(message, isCurrent), () => void this.#feed.more());
    this.fresh = button("", "top", { class: "fresh", hidden: true });
    this.element.append(this.head, h("div.news", null, this.fresh), this.list.space, this.foot);
    this.element.addEventListener("input", (event) => this.#typed(event));
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.element.addEventListener("scroll", () => this.list.isAtTop && this.#seen(), { passive: true });
    this.#feed = this.#begin(params);
  }

  /** @param {Record<string, string>} params */
  #begin(params) {
    const filter = Object.fromEntries(FILTERS.map((key) => [key, params[key]]).filter(([, value]) => value));
    this.#filter = JSON.stringify(filter);
    if (this.#feed) {
      this.#feed.close();
      this.list.reset();
    }
    this.#isDrawn = false;
    const feed = new Feed(this.desk.store, { ...filter, q: undefined, ...sieve(filter.q ?? "") }, () => this.update());
    this.#feed = feed;
    void feed.more();
    this.#seen();
    this.update();
    return feed;
  }

  /** @param {Record<string, string>} params */
  turn(params) {
    const filter = Object.fromEntries(FILTERS.map((key) => [key, params[key]]).filter(([, value]) => value));
    if (JSON.stringify(filter) !== this.#filter) this.#begin(params);
    else this.update();
    if (!this.#typing) this.#reset(params);
  }

  /** A field that somebody has used keeps what was put in, whatever its attributes say. @param {Record<string, string>} params */
  #reset(params) {
    for (const field of /** @type {NodeListOf<HTMLInputElement|HTMLSelectElement>} */ (this.head.querySelectorAll("input, select"))) {
      const wanted = params[field.name] ?? "";
      if (field.value.trim() !== wanted) field.value = wanted;
    }
  }

  /** Mail has come. @param {Brief} brief */
  add(brief) {
    const isAway = !this.list.isAtTop;
    if (this.#feed.add(brief) && isAway) this.#unseen += 1;
    if (!isAway) this.#feed.trim();
  }

  caughtUp() {
    void this.#feed.catchUp();
  }

  update() {
    const { store } = this.desk;
    const { params } = here();
    fill(this.head, this.#title(params), this.#attention(), this.#filters(params));
    this.fresh.hidden = !this.#unseen;
    this.fresh.textContent = `${many(this.#unseen, "new message")} above`;
    const { rows, isWhole, isStarted, fault } = this.#feed;
    if (isStarted || this.#isDrawn || fault) this.list.show(rows, isWhole);
    this.#isDrawn = isStarted;
    this.element.setAttribute("aria-busy", String(!isStarted && !fault));
    const isFiltered = this.#filter !== "{}";
    let foot = null;
    if (fault) foot = [trouble(fault), button("Try again", "more")];
    else if (!isStarted) foot = h("p.quiet", null, "Looking …");
    else if (!rows.length && isFiltered) foot = empty("Nothing fits", ["No message is like this. ", h("a", { href: href("mail") }, "Show all mail")]);
    else if (!rows.length) foot = this.#first(store.agents.size);
    else if (!isWhole) foot = h("p.quiet", null, "Loading older mail …");
    else foot = h("p.quiet.end", null, `${many(rows.length, "message")}. That is all.`);
    fill(this.foot, foot);
  }

  /** @param {number} agents */
  #first(agents) {
    if (!agents) return empty("An empty room", "Nobody has an address here yet. Wire an agent, or see a room at work:", "postroom setup claude      # or codex, gemini, opencode …", "postroom demo");
    return empty("No mail yet", "Whatever is sent shows here as it comes. Write the first message, here or in a terminal:", `postroom send ${[...this.desk.store.agents.values()].find((one) => one.kind === "agent")?.name ?? "NAME"} "Hello"`);
  }

  /** @param {Record<string, string>} params */
  #title(params) {
    const scope = [params.project, params.topic && `#${params.topic}`].filter(Boolean).join(" / ");
    return h(
      "div.title",
      { "data-key": "title" },
      h("h1", { tabindex: -1 }, scope || "Mail"),
      params.with ? h("p.quiet", null, "with ", h("bdi", null, params.with)) : null,
      this.desk.store.may("mail") || !this.desk.store.isReady ? button("Write", "write", { class: "main", "aria-keyshortcuts": "c" }) : null,
    );
  }

  /** Who is stuck, and what waits for the person: the first thing to see. */
  #attention() {
    const { store } = this.desk;
    const all = sorted(store.agents.values());
    const stuck = all.filter((one) => one.doing.trouble);
    const absent = all.filter((one) => one.doing.state === "off" && !one.doing.trouble && inbox(one.agent));
    const lines = stuck.slice(0, MOST).map(({ agent, doing }) =>
      h(
        "li",
        { "data-key": agent.id },
        h("a.who", { href: turned({ agent: agent.address, message: null, thread: null }) }, h("i.dot", { "data-state": doing.state, "aria-hidden": "true" }), h("bdi", null, agent.name)),
        h("span.what", null, doing.trouble, doing.state === "asks" && attach(agent) ? [" ", command(attach(agent))] : null),
      ),
    );
    if (stuck.length > MOST) lines.push(h("li", { "data-key": "more" }, h("a", { href: href("agents") }, `and ${many(stuck.length - MOST, "other")}`)));
    if (absent.length) lines.push(h("li", { "data-key": "absent" }, h("a.who", { href: href("agents") }, h("i.dot", { "data-state": "off", "aria-hidden": "true" }), many(absent.length, "agent")), h("span.what.dim", null, `not running, with mail that waits: ${named(absent.map((one) => one.agent.name))}`)));
    lines.unshift(...this.#asks());
    const { mine } = store;
    if (mine.length) lines.unshift(h("li", { "data-key": "gates" }, h("a.who", { href: href("decisions") }, h("i.dot", { "data-state": "asks", "aria-hidden": "true" }), many(mine.length, "decision")), h("span.what", null, `${mine.length === 1 ? "waits" : "wait"} for your answer`)));
    if (!lines.length) return h("div.attention", { "data-key": "attention", hidden: true });
    return h("section.attention", { "data-key": "attention", "aria-label": "Needs somebody" }, h("ul", null, lines));
  }

  /** Who has asked the person something, and has no answer yet. */
  #asks() {
    const { store } = this.desk;
    const { asks } = store;
    const lines = asks.slice(0, MOST).map((message) => {
      const sender = store.agent(message.sender_id);
      return h(
        "li",
        { "data-key": `asks ${message.id}` },
        h("a.who", { href: opened({ agent: sender?.address ?? message.sender }) }, h("i.dot", { "data-state": "asks", "aria-hidden": "true" }), h("bdi", null, plain(sender?.name ?? message.sender))),
        h("span.what", null, "asks you: ", h("a", { href: opened({ message: message.id }) }, gist(message.subject || message.body, 90)), " ", store.may("mail") ? button("Reply", "reply", { class: "plain", "data-message": message.id }) : null),
      );
    });
    if (asks.length > MOST) lines.push(h("li", { "data-key": "more asks" }, h("a", { href: href("mail", { with: store.me.address, type: "request" }) }, `and ${many(asks.length - MOST, "other question")}`)));
    return lines;
  }

  /** @param {Record<string, string>} params */
  #filters(params) {
    const { store } = this.desk;
    const who = sorted(store.agents.values()).map((one) => one.agent).filter((agent) => !params.project || agent.project === params.project || agent.kind === "human");
    const people = who.map((agent) => agent.address).sort();
    return h(
      "form.filters",
      { "data-key": "filters", role: "search" },
      h("input.search", { type: "search", name: "q", placeholder: "Search: words, from:NAME to:NAME type:T", "aria-label": "Search the mail", "aria-keyshortcuts": "/", autocomplete: "off", spellcheck: "false", value: params.q ?? "" }),
      h("div.selects", null, store.projects.length > 1 ? select("project", "All projects", store.projects, params.project, "narrow") : null, select("with", "Everybody", people, params.with), select("type", "All types", store.types.map((one) => one.name).sort(), params.type), select("state", "All states", STATES, params.state)),
      Object.keys(JSON.parse(this.#filter)).length ? h("a.clear", { href: href("mail") }, "Clear") : null,
    );
  }

  /** @param {Brief} message @param {boolean} isCurrent */
  #row(message, isCurrent) {
    return row(message, this.desk.store, { isCurrent, isOpen: here().params.message === message.id, query: this.#feed.filter.q });
  }

  /** @param {Event} event */
  #typed(event) {
    const field = event.target;
    if (!(field instanceof HTMLInputElement || field instanceof HTMLSelectElement)) return;
    clearTimeout(this.#typing);
    const apply = () => {
      this.#typing = undefined;
      go(turned({ [field.name]: field.value.trim() }), { replace: field.name === "q" });
    };
    if (field.name === "q") this.#typing = setTimeout(apply, TYPED);
    else apply();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const pressed = event.target instanceof Element ? event.target.closest("[data-act]") : null;
    const act = pressed?.getAttribute("data-act");
    if (act === "reply") go(opened({ message: pressed?.getAttribute("data-message") ?? "", reply: "yes" }));
    if (act === "write") this.desk.write(here().params.topic ? { to: `topic:${here().params.topic}` } : {});
    if (act === "more") void this.#feed.more();
    if (act === "top") {
      this.element.scrollTop = 0;
      this.#seen();
    }
  }

  #seen() {
    if (!this.#unseen) return;
    this.#unseen = 0;
    this.fresh.hidden = true;
  }

  /** @param {string} key */
  key(key) {
    const far = Math.max(1, Math.floor(this.element.clientHeight / 80));
    /** @type {Record<string, number>} */
    const moves = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1, PageDown: far, PageUp: -far, Home: -1e9, End: 1e9 };
    const by = moves[key];
    const isInside = this.list.list.contains(document.activeElement);
    if (by === undefined || (!isInside && key !== "j" && key !== "k")) return false;
    this.list.move(by);
    return true;
  }

  focusList() {
    return this.list.focus();
  }

  close() {
    clearTimeout(this.#typing);
    this.#feed.close();
    this.list.close();
  }
}

/** The first few. @param {string[]} names */
const named = (names) => `${names.slice(0, 3).map(plain).join(", ")}${names.length > 3 ? " …" : ""}`;

/**
 * @param {string} name
 * @param {string} all
 * @param {string[]} values
 * @param {string|undefined} chosen
 * @param {string} [kind]
 */
function select(name, all, values, chosen, kind) {
  const each = chosen && !values.includes(chosen) ? [chosen, ...values] : values;
  return h(
    "select",
    { "data-key": name, name, class: kind, "aria-label": all, "data-on": chosen ? "" : null },
    h("option", { value: "", selected: !chosen }, all),
    each.map((value) => h("option", { value, selected: value === chosen }, value.replaceAll("_", " "))),
  );
}
