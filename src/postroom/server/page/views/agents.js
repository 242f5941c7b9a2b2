/** Everybody: what each does and how that is known, what waits for it and why, and how it can be reached. */

import { fill, h } from "../element.js";
import { button, empty } from "../piece.js";
import { doing, inbox, reached, runtimeName, runs, session, sorted } from "../presence.js";
import { here, href, opened } from "../router.js";
import { many, plain } from "../text.js";

/** @typedef {import("../wire.js").Agent} Agent */
/** @typedef {import("../desk.js").Desk} Desk */

export class AgentsView {
  title = "Agents";

  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.element = h("div.page.agents");
    this.element.addEventListener("click", (event) => this.#clicked(event));
    this.update();
  }

  turn() {
    this.update();
  }

  update() {
    const { store } = this.desk;
    const { project } = here().params;
    const everyone = [...store.agents.values()].filter((one) => !project || one.project === project || one.kind === "human");
    const present = sorted(everyone.filter((one) => !one.left_at));
    const gone = everyone.filter((one) => one.left_at);
    const agents = present.filter((one) => one.agent.kind === "agent");
    const people = present.filter((one) => one.agent.kind === "human");
    fill(
      this.element,
      h("div.title", { "data-key": "title" }, h("h1", { tabindex: -1 }, project ? `Agents of ${plain(project)}` : "Agents"), h("p.quiet", null, agents.length ? standing(agents) : "")),
      !store.isReady ? h("p.quiet", null, "Looking …") : null,
      store.isReady && !agents.length ? empty("Nobody here yet", "An agent gets its address when its runtime is wired, or by hand:", "postroom setup claude      # or codex, gemini, opencode …", "postroom join builder --role builder", "postroom spawn builder -- claude") : null,
      agents.length ? h("ul.people", { "data-key": "agents", role: "list" }, agents.map((one) => this.#line(one.agent, one.doing))) : null,
      people.length ? [h("h2.small", { "data-key": "people-title" }, "People"), h("ul.people", { "data-key": "people", role: "list" }, people.map((one) => this.#line(one.agent, one.doing)))] : null,
      gone.length ? h("details.gone", { "data-key": "gone" }, h("summary", null, `${many(gone.length, "other")} that left`), h("ul.people", { role: "list" }, gone.map((one) => this.#line(one, doing(one))))) : null,
    );
  }

  /** @param {Agent} agent @param {import("../presence.js").Doing} found */
  #line(agent, found) {
    const one = session(agent);
    const isOpen = here().params.agent === agent.address;
    const where = [runtimeName(one?.runtime ?? null), one?.branch].filter(Boolean).join(", ");
    return h(
      "li.person",
      { "data-key": agent.id },
      h(
        "div.name",
        null,
        h("a", { href: opened({ agent: agent.address }), "aria-current": isOpen ? "true" : null }, h("i.dot", { "data-state": found.state, "aria-hidden": "true" }), h("bdi", null, plain(agent.name))),
        h("span.dim", null, [agent.role, where].filter(Boolean).map((each) => plain(String(each))).join(" · ")),
      ),
      h("div.doing", null, h(`span.word.${tone(found)}`, null, found.word), h("span.dim", null, found.evidence)),
      h("div.waits", null, h("a", { href: href("mail", { with: agent.address, state: "stored" }) }, waiting(agent)), inbox(agent) && found.until ? h(`span.${found.trouble ? "trouble" : "dim"}`, null, found.until) : null),
      h("div.reach.dim", null, reached(agent)),
      agent.kind === "agent" && !agent.left_at && this.desk.store.may("operate") ? h("div.acts", null, agent.manners?.paused ? button("Resume", "resume", { "data-agent": agent.id }) : runs(agent) && button("Stop …", "stop", { "data-agent": agent.id, "aria-label": `Stop ${agent.name}` })) : h("div.acts"),
    );
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]") : null;
    const agent = this.desk.store.agent(act?.getAttribute("data-agent") ?? "");
    if (!agent) return;
    if (act?.getAttribute("data-act") === "stop") this.desk.interrupt(agent);
    else void this.desk.resume(agent);
  }

  /** @param {string} key */
  key(key) {
    const links = /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll(".person .name a")]);
    const at = links.findIndex((one) => one.closest(".person")?.contains(document.activeElement));
    if (key === "i") {
      const agent = this.desk.store.agent(links[at]?.closest("[data-key]")?.getAttribute("data-key") ?? "");
      if (agent?.kind === "agent" && runs(agent)) this.desk.interrupt(agent);
      return Boolean(agent);
    }
    if (key !== "j" && key !== "k") return false;
    links[Math.max(0, Math.min(links.length - 1, at + (key === "j" ? 1 : -1)))]?.focus();
    return true;
  }

  close() {}
}

/** How they do, in a line. @param {ReturnType<typeof sorted>} agents */
function standing(agents) {
  const running = agents.filter((one) => runs(one.agent)).length;
  const stuck = agents.filter((one) => one.doing.trouble).length;
  const absent = agents.filter((one) => one.doing.state === "off" && !one.doing.trouble && inbox(one.agent)).length;
  const run = agents.length === 1 ? (running ? "running" : "not running") : `${running === agents.length ? "all" : running || "none"} running`;
  return [many(agents.length, "agent"), run, stuck && `${stuck} ${stuck === 1 ? "needs" : "need"} somebody`, absent && `${absent} ${absent === 1 ? "has" : "have"} mail waiting`].filter(Boolean).join(", ");
}

/** In which colour a state is said: of one that is well but for a letter in doubt, that letter is the trouble. @param {import("../presence.js").Doing} found */
export const tone = (found) => (found.state === "asks" || found.state === "stuck" ? "trouble" : "fine");

/** @param {Agent} agent */
export function waiting(agent) {
  const said = [agent.waiting ? `${agent.waiting} waiting` : inbox(agent) ? "" : "nothing waits", agent.held ? `${agent.held} held` : "", agent.offered ? `${agent.offered} in hand` : "", agent.uncertain ? `${agent.uncertain} uncertain` : ""];
  return said.filter(Boolean).join(", ");
}
