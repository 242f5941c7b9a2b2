/** Stopping an agent. Nothing is done before it is confirmed, and then it says what was proven. */

import { post, screen, segment } from "./api.js";
import { fill, h } from "./element.js";
import { bdi, button, command, trouble } from "./piece.js";
import { attach, doing, hindrance } from "./presence.js";
import { gist, many, sentence } from "./text.js";
import { HINDERS, STOPS, TELLS } from "./word.js";

/** @typedef {import("./wire.js").Agent} Agent */

/** @type {Record<string, string>} */
const NAMES = { stop: "Stop", pause: "Pause", cancel: "Cancel" };

export class Interrupt {
  /** @type {Agent|null} */
  #agent = null;
  /** @type {Record<string, any>|null} */
  #result = null;
  /** @type {Error|null} */
  #fault = null;
  #isBusy = false;
  #screen = "";
  #kind = "stop";

  /** @param {HTMLDialogElement} dialog @param {import("./store.js").Store} store */
  constructor(dialog, store) {
    this.dialog = dialog;
    this.store = store;
    dialog.addEventListener("submit", (event) => void this.#confirm(event));
    dialog.addEventListener("change", (event) => {
      const field = /** @type {HTMLInputElement} */ (event.target);
      if (field.name === "kind") this.#kind = field.value;
      this.#draw();
    });
    dialog.addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      if (target === dialog || target?.closest("[data-act=close]")) dialog.close();
      if (target?.closest("[data-act=screen]")) void this.#look();
    });
  }

  /** @param {Agent} agent @param {string} [kind] */
  open(agent, kind = "stop") {
    this.#agent = agent;
    this.#result = null;
    this.#fault = null;
    this.#screen = "";
    this.#kind = kind;
    this.dialog.replaceChildren();
    this.#draw();
    this.dialog.showModal();
    /** @type {HTMLElement|null} */ (this.dialog.querySelector("[name=reason]"))?.focus();
  }

  #draw() {
    const agent = this.#agent;
    if (!agent) return;
    const name = NAMES[this.#kind] ?? "Stop";
    const hinders = hindrance(agent);
    const isTold = !agent.stops;
    if (this.#result) {
      fill(this.dialog, h("div.result", { role: "status" }, h("h2", { id: "interrupt-title", tabindex: -1 }, outcome(this.#result)), h("p", null, sentence(gist(String(this.#result.words ?? ""), 400))), this.#more(this.#result), this.#result.proven ? null : this.#next(agent), trouble(this.#fault), h("div.acts", null, button("Close", "close", { class: "main" }))));
      return;
    }
    fill(
      this.dialog,
      h(
        "form.interrupt",
        { method: "dialog" },
        h("h2", { id: "interrupt-title" }, `${name} `, bdi(agent.name), "?"),
        h("p.quiet", null, `Now: ${doing(agent).word}.`),
        hinders ? h("p.hinders", null, HINDERS[hinders], hinders === "dialog" && attach(agent) ? [" Answer it in its terminal: ", command(attach(agent))] : null) : null,
        h("fieldset", null, h("legend.hidden", null, "What to do"), Object.entries(isTold ? TELLS : STOPS).map(([kind, about]) => h("label.kind", null, h("input", { type: "radio", name: "kind", value: kind, checked: kind === this.#kind }), h("span", null, h("b", null, isTold && kind === "stop" ? "Tell it to stop" : NAMES[kind]), h("span.dim", null, about))))),
        h("div.field", null, h("label", { for: "interrupt-reason" }, "Why"), h("input", { id: "interrupt-reason", name: "reason", autocomplete: "off", placeholder: "optional; told to whom it concerns" })),
        trouble(this.#fault),
        h("div.acts", null, h("button.danger", { type: "submit", disabled: this.#isBusy }, this.#isBusy ? "Working …" : this.#kind !== "stop" || !hinders ? `${name} it` : isTold ? "Tell it to stop" : "Try to stop it"), button("Leave it", "close")),
      ),
    );
  }

  /** @param {Record<string, any>} result */
  #more(result) {
    return [
      result.paused ? h("p.dim", null, `Its mail waits (${many(Number(result.held ?? 0), "message")} now) until it is resumed.`) : null,
      Array.isArray(result.cancelled) ? h("p.dim", null, `${many(result.cancelled.length, "message")} went back to who asked.`) : null,
    ];
  }

  /** Where to see what keeps it, and to end that by hand. @param {Agent} agent */
  #next(agent) {
    const waits = this.#result?.message ? h("p.dim", null, "Until it has read that, its line says: told to stop.") : null;
    if (!attach(agent)) return h("div.next", null, waits, h("p", null, "If it goes on, end it where it runs: its terminal is not known here."));
    return h("div.next", null, waits, h("p", null, "See to it in its terminal: ", command(attach(agent))), this.#screen ? h("pre.screen", { tabindex: 0, "aria-label": "Its screen" }, this.#screen) : h("p", null, button("Show its screen", "screen")));
  }

  async #look() {
    try {
      this.#screen = await screen(this.#agent?.address ?? "");
      this.#fault = null;
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
    this.#draw();
  }

  /** @param {Event} event */
  async #confirm(event) {
    event.preventDefault();
    const agent = this.#agent;
    if (!agent || this.#isBusy) return;
    const reason = /** @type {HTMLInputElement|null} */ (this.dialog.querySelector("[name=reason]"))?.value.trim() ?? "";
    this.#isBusy = true;
    this.#fault = null;
    this.#draw();
    try {
      this.#result = await post(`/agents/${segment(agent.address)}/interrupt`, { kind: this.#kind, reason });
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
    this.#isBusy = false;
    this.store.invalidate("agents");
    this.#draw();
    if (this.#result) this.dialog.querySelector("h2")?.focus();
  }
}

/** @param {Record<string, any>} result */
function outcome(result) {
  if (result.proven) return "It has stopped: proven.";
  return result.message ? "It was told, not stopped." : "Not proven to have stopped.";
}
