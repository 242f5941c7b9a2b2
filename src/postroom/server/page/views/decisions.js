/** What waits for a decision, the most pressing first. */

import { post, segment } from "../api.js";
import { fill, h } from "../element.js";
import { LetterBody } from "../letter.js";
import { bdi, button, empty, moment, trouble } from "../piece.js";
import { opened } from "../router.js";
import { gist, many, plain } from "../text.js";
import { left } from "../time.js";

/** @typedef {import("../wire.js").Gate} Gate */
/** @typedef {import("../desk.js").Desk} Desk */

export class DecisionsView {
  title = "Decisions";
  /** @type {Map<string, Error>} */
  #faults = new Map();
  /** @type {Map<string, LetterBody>} */
  #bodies = new Map();
  #tick;

  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.element = h("div.page.decisions");
    this.element.addEventListener("click", (event) => void this.#clicked(event));
    this.element.addEventListener("submit", (event) => event.preventDefault());
    this.#tick = setInterval(() => this.update(), 10_000); // time runs out while one looks
    this.update();
  }

  turn() {
    this.update();
  }

  update() {
    const { mine, others, isReady } = this.desk.store;
    fill(
      this.element,
      h("div.title", { "data-key": "title" }, h("h1", { tabindex: -1 }, "Decisions"), h("p.quiet", null, mine.length ? `${many(mine.length, "question")} ${mine.length === 1 ? "waits" : "wait"} for you` : "")),
      isReady && !mine.length ? empty("Nothing to decide", "An agent that needs a person’s word asks for it, and the question shows here until its time is over:", `postroom send ${this.desk.store.me.address || "human:NAME"} "May I deploy 1.4?" --type decision_gate --expires 2h`) : null,
      h("ol.gates", { "data-key": "mine", role: "list" }, mine.map((gate) => this.#gate(gate, true))),
      others.length ? h("section", { "data-key": "others", "aria-labelledby": "others-decide" }, h("h2.small", { id: "others-decide" }, "Others decide"), h("ol.gates", { role: "list" }, others.map((gate) => this.#gate(gate, false)))) : null,
    );
  }

  /** @param {Gate} gate @param {boolean} isMine */
  #gate(gate, isMine) {
    const { message, options, asked } = gate;
    const id = message.id;
    let body = this.#bodies.get(id);
    if (!body) this.#bodies.set(id, (body = new LetterBody()));
    const names = asked.map((one) => this.desk.store.called(one, message.project));
    return h(
      "li.gate",
      { "data-key": id },
      h("h2", null, h("a", { href: opened({ message: id }) }, gist(message.subject || message.body, 120))),
      h("p.meta", null, bdi(this.desk.store.called(message.sender, message.project)), " asks ", names.map((name, n) => [n ? ", " : "", bdi(name)]), h("span.dim", null, " · ", moment(message.created_at, true)), gate.expires_at ? h("span.due", { title: "When its time is over it is denied." }, ` · ${left(gate.expires_at)}, then denied`) : null),
      message.subject || message.body.length > 120 ? body.draw({ ...message, payload: null }) : null,
      isMine && h(
        "form.decide",
        null,
        h("label.note", null, "Note", h("input", { name: "note", type: "text", autocomplete: "off", placeholder: "optional; goes with the answer" })),
        h("div.acts", null, options.map((option) => button(plain(option), "decide", { "data-option": option, "data-gate": id }))),
      ),
      trouble(this.#faults.get(id) ?? null),
    );
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]") : null;
    if (act?.getAttribute("data-act") === "whole") {
      this.#bodies.get(act.closest("[data-key].gate")?.getAttribute("data-key") ?? "")?.whole();
      return this.update();
    }
    const id = act?.getAttribute("data-gate");
    const option = act?.getAttribute("data-option");
    if (!id || !option) return undefined;
    const note = /** @type {HTMLInputElement|null} */ (act?.closest("form")?.querySelector("[name=note]"))?.value ?? "";
    try {
      await post(`/messages/${segment(id)}/decide`, { option, note });
      this.#faults.delete(id);
      this.desk.say(`Decided: ${plain(option)}.`);
      this.element.querySelector("h1")?.focus();
    } catch (error) {
      this.#faults.set(id, /** @type {Error} */ (error));
    }
    this.desk.store.invalidate("gates");
    return this.update();
  }

  /** @param {string} key */
  key(key) {
    if (key !== "j" && key !== "k") return false;
    const links = /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll(".gate h2 a")]);
    const at = links.findIndex((one) => one.closest(".gate")?.contains(document.activeElement));
    links[Math.max(0, Math.min(links.length - 1, at + (key === "j" ? 1 : -1)))]?.focus();
    return true;
  }

  close() {
    clearInterval(this.#tick);
  }
}
