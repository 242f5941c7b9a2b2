/** The page: puts the parts together, and nothing else. */

import { Fault, post, segment } from "./api.js";
import { Compose } from "./compose.js";
import { fill, h } from "./element.js";
import { Interrupt } from "./interrupt.js";
import { keep, recall } from "./kept.js";
import { Keyboard } from "./keyboard.js";
import { button, empty } from "./piece.js";
import { OPEN, go, here, href, opened } from "./router.js";
import { atHome } from "./shell.js";
import { drawSide } from "./side.js";
import { Store } from "./store.js";
import { Stream } from "./stream.js";
import { gist, many, plain, sentence } from "./text.js";
import { HAPPENED } from "./word.js";
import { LogView } from "./views/log.js";

/** @typedef {import("./desk.js").View} View */
/** @typedef {import("./desk.js").Desk} Desk */
/** @typedef {"auto"|"light"|"dark"} Theme */

/** Views that the first screen does not need come when they are asked for. @type {Record<string, () => Promise<new (desk: Desk, params: Record<string, string>) => View>>} */
const VIEWS = {
  mail: async () => LogView,
  agents: async () => (await import("./views/agents.js")).AgentsView,
  decisions: async () => (await import("./views/decisions.js")).DecisionsView,
  dead: async () => (await import("./views/dead.js")).DeadView,
  metrics: async () => (await import("./views/metrics.js")).MetricsView,
  graph: async () => (await import("./views/graph.js")).GraphView,
  message: async () => (await import("./views/message.js")).MessageView,
  thread: async () => (await import("./views/thread.js")).ThreadView,
  agent: async () => (await import("./views/agent.js")).AgentView,
};
const TYPES = [...Object.keys(HAPPENED), "agent.api_answered", "agent.api_refused", "agent.api_retried", "agent.declared", "agent.ended", "agent.interrupted", "agent.joined", "agent.left", "agent.manners", "agent.pushed", "agent.renamed", "agent.route", "agent.started", "agent.updated", "lease.ended", "lease.taken", "project.created", "project.deleted", "room.pruned", "room.restored", "session.ended", "session.started", "topic.subscribed", "topic.unsubscribed"];
const SAID = 7000; // milliseconds a line at the foot stays
const FRAME = 80; // milliseconds between two drawings, however much happens
const NEWS = 1500; // what comes in that time is read out together

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));
/** @param {string} id */
const dialog = (id) => /** @type {HTMLDialogElement} */ (part(id));

class App {
  store = new Store();
  stream = new Stream(TYPES);
  /** @type {View|null} */
  view = null;
  /** @type {View|null} */
  beside = null;
  #names = { view: "", beside: "" };
  #turns = 0;
  #isDue = false;
  #drawn = 0;
  #news = { count: 0, last: "" };
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #saying;
  /** @type {Element|null} what had the focus before something was opened beside */
  #from = null;
  theme = /** @type {Theme} */ (recall("theme", "auto"));

  constructor() {
    this.compose = new Compose(dialog("compose"), this.store, (text) => this.say(text));
    this.interrupt = new Interrupt(dialog("interrupt"), this.store);
    this.keyboard = new Keyboard(dialog("help"), (action) => this.act(action));
    /** @type {Desk} */
    this.desk = {
      store: this.store,
      write: (draft) => this.compose.open(draft),
      interrupt: (agent, kind) => this.interrupt.open(agent, kind),
      resume: (agent) => this.#resume(agent),
      say: (text, tone) => this.say(text, tone),
      sure: (question, detail, yes) => this.#sure(question, detail, yes),
    };
    this.store.addEventListener("change", () => this.#soon());
    this.store.addEventListener("mail", (event) => this.#mail(/** @type {CustomEvent} */ (event).detail));
    this.stream.addEventListener("event", (event) => this.#happened(/** @type {CustomEvent} */ (event).detail));
    this.stream.addEventListener("link", () => this.#banner());
    this.stream.addEventListener("gap", (event) => this.#caughtUp(/** @type {CustomEvent} */ (event).detail.isFirst));
    this.store.addEventListener("refused", () => this.#refused());
    addEventListener("hashchange", () => void this.turn());
    document.addEventListener("click", (event) => this.#clicked(event));
    part("skip").addEventListener("click", (event) => {
      event.preventDefault();
      this.#focusView();
    });
    setInterval(() => this.stream.link.state === "lost" && this.#banner(), 500);
  }

  async begin() {
    void this.turn();
    this.#drawSide();
    try {
      await this.store.begin(() => this.stream.open());
    } catch (error) {
      if (error instanceof Fault && (error.status === 401 || error.status === 403)) this.#refused();
      else this.stream.open(); // which says that the line is down, and comes back
    }
  }

  /** The address has changed, or is looked at for the first time. */
  async turn() {
    if (document.body.hasAttribute("data-refused")) return;
    const turn = (this.#turns += 1);
    const { view, params } = here();
    const name = view in VIEWS && !OPEN.includes(/** @type {any} */ (view)) ? view : "mail";
    const open = OPEN.find((one) => params[one]) ?? "";
    const [Main, Beside] = await Promise.all([VIEWS[name]?.(), open ? VIEWS[open]?.() : undefined]);
    if (turn !== this.#turns || !Main) return; // another one came meanwhile
    const isFirst = !this.view;
    if (this.#names.view !== name) {
      this.view?.close();
      this.view = new Main(this.desk, params);
      part("view").replaceChildren(this.view.element);
      part("view").setAttribute("data-view", name);
      if (!isFirst && !open) this.#focusView();
    } else this.view?.turn(params);
    this.#names.view = name;
    this.#open(open, Beside, params);
    this.#drawSide();
    this.#entitle();
  }

  /** @param {string} name @param {(new (desk: Desk, params: Record<string, string>) => View)|undefined} Beside @param {Record<string, string>} params */
  #open(name, Beside, params) {
    const aside = part("beside");
    const was = this.#names.beside;
    this.#names.beside = name;
    document.body.toggleAttribute("data-beside", Boolean(name));
    aside.hidden = !name;
    if (!Beside) {
      this.beside?.close();
      this.beside = null;
      aside.replaceChildren();
      if (was) this.#focusBack();
      return;
    }
    if (!was) this.#from = document.activeElement;
    const ref = params[name] ?? "";
    if (was === name) this.beside?.turn(params);
    else {
      this.beside?.close();
      this.beside = new Beside(this.desk, params);
      aside.replaceChildren(h("div.shut", null, button("Close", "shut", { class: "plain", "aria-keyshortcuts": "Escape" })), this.beside.element);
    }
    if (aside.getAttribute("data-open") !== `${name} ${ref}`) {
      aside.setAttribute("data-open", `${name} ${ref}`);
      aside.scrollTop = 0;
      /** @type {HTMLElement|null} */ (aside.querySelector("h2"))?.focus({ preventScroll: true });
    }
  }

  #focusView() {
    const heading = /** @type {HTMLElement|null} */ (part("view").querySelector("h1"));
    (heading ?? part("view")).focus();
  }

  #focusBack() {
    part("beside").removeAttribute("data-open");
    if (this.#from instanceof HTMLElement && this.#from.isConnected && this.#from !== document.body) this.#from.focus({ preventScroll: true });
    else if (!(this.view instanceof LogView && this.view.focusList())) this.#focusView();
  }

  #entitle() {
    const open = this.beside?.title;
    const wants = this.store.mine.length + this.store.asks.length + this.store.dead.length;
    document.title = `${wants ? `(${wants}) ` : ""}${open ?? this.view?.title ?? ""} · Postroom`;
  }

  #soon() {
    if (this.#isDue) return;
    this.#isDue = true;
    setTimeout(() => requestAnimationFrame(() => this.#draw()), Math.max(0, this.#drawn + FRAME - performance.now()));
  }

  #draw() {
    this.#isDue = false;
    this.#drawn = performance.now();
    this.view?.update();
    this.beside?.update();
    this.#drawSide();
    this.#entitle();
  }

  #drawSide() {
    drawSide(this.store, this.theme);
  }

  /** @param {import("./wire.js").Happening} happening */
  #happened(happening) {
    this.store.apply(happening);
    this.view?.happened?.(happening);
    this.beside?.happened?.(happening);
  }

  /** @param {import("./store.js").Brief} brief */
  #mail(brief) {
    if (this.view instanceof LogView) this.view.add(brief);
    this.#news.count += 1;
    this.#news.last = `${plain(brief.sender)} to ${plain(brief.to)}: ${gist(brief.subject || brief.excerpt, 80)}`;
    if (this.#news.count > 1) return;
    setTimeout(() => {
      const { count, last } = this.#news;
      part("news").textContent = count === 1 ? `New mail. ${last}` : `${many(count, "new message")}.`;
      this.#news.count = 0;
    }, NEWS);
  }

  /** What happened between the first look and the first word of the stream is looked at again. @param {boolean} isFirst */
  #caughtUp(isFirst) {
    this.store.invalidate("agents", "gates", "asks", "dead", ...(isFirst ? [] : ["me", "projects", "topics", "groups"]));
    this.view?.caughtUp?.();
    this.beside?.caughtUp?.();
    if (!isFirst) this.say("Connected again.");
  }

  #banner() {
    const banner = part("banner");
    const { state, again } = this.stream.link;
    banner.hidden = state !== "lost";
    document.body.setAttribute("data-link", state);
    if (state !== "lost") return;
    if (this.stream.isPassing) {
      fill(banner, "The demo has ended; what you see is how it stood.", h("span.hint", null, " See another: postroom demo"));
      return;
    }
    const wait = Math.max(0, Math.ceil((again - Date.now()) / 1000));
    const when = h("span", { "aria-hidden": "true" }, wait ? ` Trying again in ${wait} s.` : " Trying again …");
    fill(banner, "The line to the daemon is down; what you see may be old.", when, " ", button("Try now", "reconnect", { class: "plain" }), h("span.hint", null, ` If it does not run: ${atHome("postroom up")}`));
  }

  #refused() {
    this.stream.close();
    this.view?.close();
    this.view = null;
    this.beside?.close();
    this.beside = null;
    part("banner").hidden = true;
    part("beside").hidden = true;
    document.body.removeAttribute("data-beside");
    document.body.setAttribute("data-refused", "");
    part("view").replaceChildren(h("div.page", null, empty("This browser is not let in", "Its session is over, or it never had one. Ask for a new link in a terminal:", "postroom dashboard")));
  }

  /** @param {string} text @param {"fine"|"trouble"} [tone] */
  say(text, tone = "fine") {
    const line = part("said");
    line.textContent = text;
    line.setAttribute("data-tone", tone);
    clearTimeout(this.#saying);
    this.#saying = setTimeout(() => (line.textContent = ""), SAID);
  }

  /** @param {import("./wire.js").Agent} agent */
  async #resume(agent) {
    try {
      await post(`/agents/${segment(agent.address)}/resume`);
      this.say(`${plain(agent.name)} goes on.`);
    } catch (error) {
      const { message, hint } = /** @type {Fault} */ (error);
      this.say([sentence(message), hint].filter(Boolean).join(" "), "trouble");
    }
    this.store.invalidate("agents");
  }

  /** @param {string} question @param {string} detail @param {string} yes @returns {Promise<boolean>} */
  #sure(question, detail, yes) {
    const asked = dialog("sure");
    fill(asked, h("form", { method: "dialog" }, h("h2", { id: "sure-title" }, question), h("p", null, detail), h("div.acts", null, h("button.danger", { value: "yes" }, yes), h("button", { value: "no", autofocus: true }, "Leave it"))));
    asked.returnValue = "";
    asked.showModal();
    return new Promise((resolve) => asked.addEventListener("close", () => resolve(asked.returnValue === "yes"), { once: true }));
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]")?.getAttribute("data-act") : null;
    if (act === "theme") this.#turnTheme();
    if (act === "help") this.#help();
    if (act === "reconnect") this.stream.now();
    if (act === "shut") this.act("close");
    if (act === "copy") void this.#copy(event.target);
  }

  /** @param {EventTarget|null} target */
  async #copy(target) {
    const text = target instanceof Element ? (target.closest("[data-text]")?.getAttribute("data-text") ?? "") : "";
    try {
      await navigator.clipboard.writeText(text);
      this.say("Copied.");
    } catch {
      this.say(`Not copied: this browser does not let a page. It is: ${text}`, "trouble");
    }
  }

  #help() {
    this.keyboard.help();
    this.#drawSide();
  }

  #turnTheme() {
    const themes = /** @type {Theme[]} */ (["auto", "light", "dark"]);
    this.theme = /** @type {Theme} */ (themes[(themes.indexOf(this.theme) + 1) % 3]);
    keep("theme", this.theme);
    if (this.theme === "auto") document.documentElement.removeAttribute("data-theme");
    else document.documentElement.setAttribute("data-theme", this.theme);
    this.#drawSide();
  }

  /** What a key means. @param {string} action @returns {boolean} */
  act(action) {
    const [kind, what = ""] = action.split(" ", 2);
    if (kind === "close") {
      if (this.beside) go(opened());
      return Boolean(this.beside);
    }
    if (kind === "go") {
      go(href(what));
      return true;
    }
    if (what === "?") this.#help();
    else if (what === "c" && this.store.may("mail")) this.compose.open();
    else if (what === "/") return this.#search();
    else return Boolean(this.beside?.key?.(what)) || Boolean(this.view?.key?.(what));
    return true;
  }

  #search() {
    const field = /** @type {HTMLElement|null} */ (document.querySelector("input.search"));
    if (field) field.focus();
    else go(href("mail"));
    return true;
  }
}

void new App().begin();
