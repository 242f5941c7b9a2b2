/** Dead letters: what could not be delivered, and what nobody can tell of. */

import { post, remove, segment } from "../api.js";
import { fill, h } from "../element.js";
import { arrow, bdi, button, empty, moment, trouble } from "../piece.js";
import { opened } from "../router.js";
import { gist, many, plain } from "../text.js";

/** @typedef {import("../wire.js").DeadLetter} DeadLetter */
/** @typedef {import("../desk.js").Desk} Desk */

export class DeadView {
  title = "Dead letters";
  /** @type {Error|null} */
  #fault = null;

  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.element = h("div.page.dead");
    this.element.addEventListener("click", (event) => void this.#clicked(event));
    this.update();
  }

  turn() {
    this.update();
  }

  update() {
    const { dead, uncertain, isReady } = this.desk.store;
    fill(
      this.element,
      h("div.title", { "data-key": "title" }, h("h1", { tabindex: -1 }, "Dead letters"), h("p.quiet", null, dead.length ? `${many(dead.length, "letter")} given up` : "")),
      trouble(this.#fault),
      isReady && !dead.length && !uncertain.length ? empty("None", "What is offered again and again and never proven to be seen is given up, and shows here; its sender is told.") : null,
      dead.length ? h("ol.letters-dead", { "data-key": "dead", role: "list" }, dead.map((one) => this.#letter(one, true))) : null,
      uncertain.length ? [h("h2.small", { "data-key": "unsure" }, "Uncertain"), h("p.quiet", { "data-key": "unsure-why" }, "Handed over once; nobody can tell what became of it. It still waits, and only a person lets it be tried again."), h("ol.letters-dead", { "data-key": "uncertain", role: "list" }, uncertain.map((one) => this.#letter(one, false)))] : null,
    );
  }

  /** @param {DeadLetter} letter @param {boolean} isDead */
  #letter(letter, isDead) {
    const about = { "data-ref": letter.id, "data-to": this.desk.store.agent(letter.delivery.recipient_id)?.address ?? letter.delivery.recipient };
    return h(
      "li.lost",
      { "data-key": `${letter.id} ${letter.delivery.recipient_id}` },
      h("h2", null, h("a", { href: opened({ message: letter.id }), dir: "auto" }, gist(letter.subject || letter.body, 120) || letter.handle)),
      h("p.meta", null, bdi(letter.sender), arrow(), bdi(letter.delivery.recipient), h("span.dim", null, " · ", moment(letter.created_at, true))),
      h("p.why", null, isDead ? `Given up: ${plain(letter.delivery.reason || "never proven to be seen")}.` : "It may have been shown already."),
      this.desk.store.may("operate") ? h("div.acts", null, button("Try again", "retry", { class: "main", ...about }), isDead ? button("Remove …", "purge", about) : null) : null,
    );
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]") : null;
    const ref = act?.getAttribute("data-ref");
    if (!act || !ref) return;
    const to = act.getAttribute("data-to");
    this.#fault = null;
    try {
      if (act.getAttribute("data-act") === "retry") {
        await post(`/dead/${segment(ref)}/retry`, { to });
        this.desk.say(`It waits again for ${plain(to ?? "")}.`);
      } else if (await this.desk.sure("Remove this letter for good?", "It is taken out of the room. What happened to it stays in the log.", "Remove")) {
        await remove(`/dead/${segment(ref)}`);
        this.desk.say("Removed.");
      } else return;
      this.element.querySelector("h1")?.focus();
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
    this.desk.store.invalidate("dead", "agents");
    this.update();
  }

  /** @param {string} key */
  key(key) {
    if (key !== "j" && key !== "k") return false;
    const links = /** @type {HTMLElement[]} */ ([...this.element.querySelectorAll(".lost h2 a")]);
    const at = links.findIndex((one) => one.closest(".lost")?.contains(document.activeElement));
    links[Math.max(0, Math.min(links.length - 1, at + (key === "j" ? 1 : -1)))]?.focus();
    return true;
  }

  close() {}
}
