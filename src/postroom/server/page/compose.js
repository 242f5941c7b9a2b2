/** The letter form: to whom, with completion, what, and what became of it. */

import { post } from "./api.js";
import { fill, h } from "./element.js";
import { bdi, button, trouble } from "./piece.js";
import { doing } from "./presence.js";
import { here } from "./router.js";
import { gist, plain } from "./text.js";

/** @typedef {{to?: string, subject?: string, body?: string}} Draft */
/** @typedef {import("./store.js").Store} Store */

// Types that a person does not write: the room and its bridges do, or there is a better place.
const OTHERS = new Set(["agent_message", "checkpoint", "decision_gate", "handoff", "health_check", "human_message", "interrupt", "response", "system", "tool_call", "tool_result", "voice_transcript"]);
const PRIORITIES = ["low", "normal", "high", "urgent"];
const KEPT = "postroom.draft"; // what was written outlives a reload
const SHOWN = 8;

export class Compose {
  /** @type {Error|null} */
  #fault = null;
  /** @type {{value: string, about: string}[]} */
  #offers = [];
  #chosen = -1;
  #isSending = false;

  /**
   * @param {HTMLDialogElement} dialog
   * @param {Store} store
   * @param {(text: string, tone?: "fine"|"trouble") => void} say
   */
  constructor(dialog, store, say) {
    this.dialog = dialog;
    this.store = store;
    this.say = say;
    dialog.addEventListener("submit", (event) => void this.#send(event));
    dialog.addEventListener("input", (event) => this.#typed(event));
    dialog.addEventListener("keydown", (event) => this.#pressed(event));
    dialog.addEventListener("click", (event) => this.#clicked(event));
    dialog.addEventListener("mousedown", (event) => {
      if (event.target instanceof Element && event.target.closest("[data-offer]")) event.preventDefault(); // the field keeps the focus
    });
    dialog.addEventListener("focusout", (event) => {
      if (event.target === this.#field("to")) this.#offer("");
    });
  }

  /** @param {Draft} [draft] */
  open(draft = {}) {
    this.#fault = null;
    this.#offers = [];
    this.dialog.replaceChildren();
    this.#draw();
    const kept = { ...JSON.parse(sessionStorage.getItem(KEPT) ?? "{}"), ...draft };
    for (const [name, value] of Object.entries(kept)) {
      const field = this.#field(name);
      if (field) field.value = String(value);
    }
    this.dialog.showModal();
    this.#field(kept.to ? "body" : "to")?.focus();
  }

  /** @param {string} name */
  #field(name) {
    return /** @type {HTMLInputElement|null} */ (this.dialog.querySelector(`[name="${name}"]`));
  }

  #draw() {
    const isOpen = this.#offers.length > 0;
    fill(
      this.dialog,
      h(
        "form.compose",
        { method: "dialog", novalidate: true },
        h("h2", { id: "compose-title" }, "Write"),
        h("p.quiet", null, "as ", bdi(this.store.me.address)),
        h(
          "div.field",
          null,
          h("label", { for: "compose-to" }, "To"),
          h("input", { id: "compose-to", name: "to", required: true, autocomplete: "off", autocapitalize: "off", spellcheck: "false", role: "combobox", "aria-expanded": String(isOpen), "aria-controls": "compose-offers", "aria-autocomplete": "list", "aria-activedescendant": this.#chosen >= 0 ? `offer-${this.#chosen}` : null, placeholder: "backend, @builders, #topic, human:ana" }),
          h("ul.offers", { id: "compose-offers", role: "listbox", "aria-label": "Addresses", hidden: !isOpen }, this.#offers.map((one, n) => h("li", { id: `offer-${n}`, role: "option", "aria-selected": String(n === this.#chosen), "data-offer": n, "data-key": one.value }, bdi(one.value), h("span.dim", null, one.about)))),
        ),
        h("div.field", null, h("label", { for: "compose-subject" }, "Subject"), h("input", { id: "compose-subject", name: "subject", autocomplete: "off" })),
        h("div.field.grow", null, h("label", { for: "compose-body" }, "Message"), h("textarea", { id: "compose-body", name: "body", rows: 8, required: true })),
        h("div.choices", null, choice("type", "Type", this.#types(), "note"), choice("priority", "Priority", PRIORITIES, "normal"), h("label.check", null, h("input", { type: "checkbox", name: "requires_ack" }), "Ask for an acknowledgement")),
        trouble(this.#fault),
        h("div.acts", null, h("button.main", { type: "submit", title: "Ctrl Enter", disabled: this.#isSending }, this.#isSending ? "Sending …" : "Send"), button("Close", "close")),
      ),
    );
  }

  /** @param {Event} event */
  #typed(event) {
    const field = /** @type {HTMLInputElement} */ (event.target);
    if (field.name === "to") this.#offer(field.value);
    this.#keep();
  }

  #keep() {
    const draft = Object.fromEntries(["to", "subject", "body"].map((name) => [name, this.#field(name)?.value ?? ""]));
    sessionStorage.setItem(KEPT, JSON.stringify(draft));
  }

  /** @param {string} typed */
  #offer(typed) {
    const word = typed.trim().toLowerCase().replace(/^#/, "topic:");
    this.#offers = word ? this.#all().filter((one) => one.value.toLowerCase().includes(word) && one.value.toLowerCase() !== word).sort((a, b) => rank(a.value, word) - rank(b.value, word)).slice(0, SHOWN) : [];
    this.#chosen = -1;
    this.#draw();
    if (word && !this.store.isReady) this.store.addEventListener("change", () => this.#offerAgain(), { once: true });
  }

  /** Who is here was not known when it was typed. */
  #offerAgain() {
    const field = this.#field("to");
    if (field && field === document.activeElement) this.#offer(field.value);
  }

  #types() {
    const plain = this.store.types.filter((one) => one.isPlain && !OTHERS.has(one.name)).map((one) => one.name);
    return plain.length ? plain.sort() : ["note"];
  }

  #all() {
    const { agents, groups, topics } = this.store;
    const people = [...agents.values()].filter((one) => !one.left_at).map((one) => ({ value: one.address, about: [one.role, doing(one).word].filter(Boolean).join(", ") }));
    const sets = Object.entries(groups).map(([name, members]) => ({ value: name.startsWith("@") ? name : `@${name}`, about: Array.isArray(members) ? `${members.length} together` : "" }));
    const subjects = topics.map((one) => ({ value: one.topic, about: "topic" }));
    return [...people, ...sets, { value: "@all", about: "everybody" }, ...subjects].filter((one, n, all) => all.findIndex((other) => other.value === one.value) === n);
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) return void this.#send(event);
    if (event.target !== this.#field("to")) return undefined;
    if (event.key === "ArrowDown" && !this.#offers.length) this.#offer(this.#field("to")?.value || "a");
    if (!this.#offers.length) return undefined;
    const count = this.#offers.length;
    if (event.key === "ArrowDown") this.#chosen = (this.#chosen + 1) % count;
    else if (event.key === "ArrowUp") this.#chosen = (this.#chosen - 1 + count) % count;
    else if (event.key === "Escape") this.#offers = [];
    else if (event.key === "Enter" || (event.key === "Tab" && this.#chosen >= 0)) return this.#take(Math.max(0, this.#chosen), event);
    else return undefined;
    event.preventDefault();
    return this.#draw();
  }

  /** @param {number} n @param {Event} event */
  #take(n, event) {
    const field = this.#field("to");
    if (field) field.value = this.#offers[n]?.value ?? field.value;
    this.#offers = [];
    this.#keep();
    if (!(event instanceof KeyboardEvent && event.key === "Tab")) event.preventDefault();
    this.#draw();
  }

  /** @param {MouseEvent} event */
  #clicked(event) {
    const target = event.target instanceof Element ? event.target : null;
    const offer = target?.closest("[data-offer]");
    if (offer) {
      this.#take(Number(offer.getAttribute("data-offer")), event);
      this.#field("body")?.focus();
    }
    if (target === this.dialog || target?.closest("[data-act=close]")) this.dialog.close();
  }

  /** @param {Event} event */
  async #send(event) {
    event.preventDefault();
    const [to, subject, body] = ["to", "subject", "body"].map((name) => this.#field(name)?.value.trim() ?? "");
    if (!to || !body) {
      this.#field(to ? "body" : "to")?.focus();
      return;
    }
    if (this.#isSending) return;
    this.#isSending = true;
    this.#draw();
    try {
      const sent = await post("/messages", {
        to: to.replace(/^#/, "topic:"),
        body,
        ...(subject ? { subject } : {}),
        type: this.#field("type")?.value,
        priority: this.#field("priority")?.value,
        requires_ack: this.#field("requires_ack")?.checked ?? false,
      }, { project: here().params.project });
      sessionStorage.removeItem(KEPT);
      this.dialog.close();
      this.say(told(sent, this.store));
      location.hash = `#/mail?message=${sent.id}`;
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
    this.#isSending = false;
    if (this.dialog.open) this.#draw();
  }
}

/** @type {Record<string, string>} */
const REACH = { live: "is listening", idle: "is idle", busy: "is at work", permission: "waits for a person", stored: "is not running", unknown: "runs", left: "has left" };

/** Who is in a terminal is rung by no session of its own: what was seen of it tells. @param {any} sent @param {Store} store */
function told(sent, store) {
  if (sent.note) return gist(String(sent.note));
  /** @param {import("./wire.js").Delivery} one */
  const reach = (one) => (one.reach === "stored" ? store.agent(one.recipient_id)?.reach : one.reach) ?? "";
  const each = (sent.deliveries ?? []).map((/** @type {any} */ one) => `${plain(one.recipient)} ${REACH[reach(one)] ?? "gets it"}`);
  return `Stored. ${each.slice(0, 3).join("; ")}${each.length > 3 ? ` and ${each.length - 3} more` : ""}.`;
}

/** @param {string} value @param {string} word */
const rank = (value, word) => (value.toLowerCase().startsWith(word) || value.toLowerCase().includes(`/${word}`) ? 0 : 1);

/** @param {string} name @param {string} label @param {string[]} values @param {string} chosen */
const choice = (name, label, values, chosen) => h("label.choice", null, label, h("select", { name }, values.map((value) => h("option", { value, selected: value === chosen }, value.replaceAll("_", " ")))));
