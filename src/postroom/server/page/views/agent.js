/** One agent or person: what it does, what waits for it, its latest mail, and the means to stop it. */

import { get, screen } from "../api.js";
import { fill, h } from "../element.js";
import { summary } from "../ladder.js";
import { button, command, row, trouble } from "../piece.js";
import { attach, doing, inbox, known, reached, runtimeName, runs } from "../presence.js";
import { href } from "../router.js";
import { many, plain } from "../text.js";
import { waitLong } from "../word.js";
import { tone, waiting } from "./agents.js";

/** @typedef {import("../wire.js").Agent} Agent */
/** @typedef {import("../store.js").Brief} Brief */
/** @typedef {import("../desk.js").Desk} Desk */

export class AgentView {
  title = "Agent";
  /** @type {Brief[]} */
  #recent = [];
  /** @type {Error|null} */
  #fault = null;
  #screen = "";
  #name;
  #abort = new AbortController();

  /** @param {Desk} desk @param {Record<string, string>} params */
  constructor(desk, params) {
    this.desk = desk;
    this.#name = params.agent ?? "";
    this.element = h("article.agent");
    this.element.addEventListener("click", (event) => void this.#clicked(event));
    void this.#load();
    this.update();
  }

  get #agent() {
    return this.desk.store.named(this.#name);
  }

  /** @param {Record<string, string>} params */
  turn(params) {
    if (params.agent && params.agent !== this.#name) {
      this.#name = params.agent;
      this.#recent = [];
      this.#screen = "";
      this.#fault = null;
      void this.#load();
    }
    this.update();
  }

  async #load() {
    const name = this.#name;
    const asked = this.desk.store.clock;
    try {
      const page = await get("/messages", { with: name, limit: 12, chars: 400 }, this.#abort.signal);
      if (name !== this.#name) return;
      this.#recent = page.messages.map((/** @type {import("../wire.js").Message} */ one) => this.desk.store.keep(one, asked));
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#fault = /** @type {Error} */ (error);
    }
    this.update();
  }

  /** @param {import("../wire.js").Happening} happening */
  happened(happening) {
    const agent = this.#agent;
    if (happening.type !== "message.sent" || !agent) return;
    const { message, recipients } = happening.payload;
    if (message?.sender_id === agent.id || recipients?.includes(agent.id)) void this.#load();
  }

  caughtUp() {
    void this.#load();
  }

  update() {
    const agent = this.#agent;
    if (!agent) {
      fill(this.element, h("header.letter-head", { "data-key": "head" }, h("h2", { tabindex: -1 }, plain(this.#name))), this.desk.store.isReady ? h("p.quiet", null, "Nobody of that name is here.") : h("p.quiet", null, "Looking …"));
      return;
    }
    this.title = agent.name;
    const found = doing(agent);
    fill(
      this.element,
      h(
        "header.letter-head",
        { "data-key": "head" },
        h("h2", { tabindex: -1 }, h("i.dot", { "data-state": found.state, "aria-hidden": "true" }), h("bdi", null, plain(agent.name))),
        h("p.meta", null, [agent.role, agent.project, agent.supervisor_address ? `reports to ${agent.supervisor_address}` : null].filter(Boolean).map((each) => plain(String(each))).join(" · ")),
        agent.description ? h("p.about", null, plain(agent.description)) : null,
      ),
      h("p.state", { "data-key": "state" }, h(`span.word.${tone(found)}`, null, found.word), found.evidence ? h("span.dim", null, ` ${found.evidence}`) : null),
      found.state === "asks" ? this.#answer(agent) : null,
      this.#acts(agent),
      trouble(this.#fault),
      h("dl.facts", { "data-key": "facts" }, h("dt", null, "Waits"), h("dd", null, waiting(agent), this.#why(agent)), h("dt", null, "Reached"), h("dd", null, reached(agent), agent.bridge?.instead ? h("p.trouble", null, plain(agent.bridge.instead)) : null), this.#sessions(agent)),
      this.#screen ? h("pre.screen", { "data-key": "screen", tabindex: 0, "aria-label": "Its screen" }, this.#screen) : null,
      h("section", { "data-key": "recent" }, h("h3.small", null, "Latest mail"), this.#recent.length ? h("ol.rows.still", { role: "list" }, this.#recent.map((one) => row(one, this.desk.store))) : h("p.quiet", null, "None."), h("p", null, h("a", { href: href("mail", { with: agent.address }) }, "All its mail"))),
    );
  }

  /** Where a person answers it. @param {Agent} agent */
  #answer(agent) {
    const gate = this.desk.store.mine.find((one) => one.message.sender_id === agent.id);
    const there = attach(agent);
    return h("p.next", { "data-key": "next" }, gate ? [h("a.button.main", { href: href("decisions") }, "Answer it"), " "] : null, there ? ["Answer it in its terminal: ", command(there)] : gate ? null : "Answer it where it runs: its terminal is not known here.");
  }

  /** @param {Agent} agent */
  #acts(agent) {
    const { store } = this.desk;
    const isSteered = agent.kind === "agent" && !agent.left_at && store.may("operate");
    const hasWork = runs(agent) || inbox(agent) + agent.offered + agent.uncertain > 0;
    return h(
      "div.acts",
      { "data-key": "acts" },
      store.may("mail") ? button("Write", "write", { class: "main" }) : null,
      isSteered && runs(agent) ? button("Stop …", "stop", { "aria-keyshortcuts": "i" }) : null,
      isSteered && (agent.manners?.paused ? button("Resume", "resume") : hasWork && button("Pause …", "pause")),
      isSteered && hasWork ? button("Cancel …", "cancel") : null,
      isSteered && agent.sessions.some((one) => one.bridge || one.pane) ? button(this.#screen ? "Screen again" : "Show its screen", "screen") : null,
    );
  }

  /** Why what waits does so: each reason once. @param {Agent} agent */
  #why(agent) {
    const reasons = new Map((agent.why ?? []).map((one) => [`${many(one.messages, "message")} held: ${waitLong(one.reason)}`, 1]));
    for (const message of this.#recent) {
      for (const one of message.deliveries) {
        if (one.recipient_id !== agent.id || (one.state !== "stored" && one.state !== "offered")) continue;
        const found = summary([one], this.desk.store.agent);
        reasons.set(found.detail, (reasons.get(found.detail) ?? 0) + 1);
      }
    }
    return [...reasons.keys()].map((detail) => h("p.dim", null, detail));
  }

  /** @param {Agent} agent */
  #sessions(agent) {
    return agent.sessions.map((one) => [
      h("dt", null, agent.sessions.length > 1 ? "A session" : "Session"),
      h("dd", { title: one.pane ? plain(`pane ${one.pane}`) : null }, [runtimeName(one.runtime), one.branch && `branch ${one.branch}`, one.pane && `pane ${one.pane.split("@")[0]}`].filter(Boolean).map((each) => plain(String(each))).join(", "), h("p.dim", null, known(one)), one.worktree ? h("p.dim", { title: one.worktree }, plain(tail(one.worktree))) : null),
    ]);
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]")?.getAttribute("data-act") : null;
    const agent = this.#agent;
    if (!act || !agent) return;
    if (act === "write") this.desk.write({ to: agent.address });
    else if (act === "resume") await this.desk.resume(agent);
    else if (act === "screen") await this.#look(agent);
    else this.desk.interrupt(agent, act);
  }

  /** @param {Agent} agent */
  async #look(agent) {
    try {
      this.#screen = await screen(agent.address);
      this.#fault = null;
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
    this.update();
  }

  /** @param {string} key */
  key(key) {
    const agent = this.#agent;
    if (key !== "i" || agent?.kind !== "agent" || !runs(agent)) return false;
    this.desk.interrupt(agent);
    return true;
  }

  close() {
    this.#abort.abort();
  }
}

/** The end of a path, which is told from an address by what leads it. @param {string} path */
function tail(path) {
  const parts = path.split("/").filter(Boolean);
  return parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : path;
}
