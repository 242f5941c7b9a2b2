/** The keys. Every one of them can also be done without, and all can be turned off. */

import { fill, h } from "./element.js";
import { keep, recall } from "./kept.js";
import { button } from "./piece.js";
import { VIEWS } from "./side.js";

/** @type {[string, string][]} */
const KEYS = [
  ["j  k", "next, previous"],
  ["Enter", "open"],
  ["Esc", "close what is open"],
  ["/", "search"],
  ["c", "write"],
  ["r", "reply to the open message"],
  ["t", "its thread"],
  ["i", "stop the agent that is open"],
  ["Ctrl Enter", "send"],
  ["?", "this list"],
];
const CHORD = 1500; // milliseconds between g and its letter

export class Keyboard {
  #began = 0;
  isOn = recall("keys", "on") === "on";

  /**
   * @param {HTMLDialogElement} dialog
   * @param {(action: string) => boolean} act whether something was done
   */
  constructor(dialog, act) {
    this.dialog = dialog;
    this.act = act;
    addEventListener("keydown", (event) => this.#pressed(event));
    dialog.addEventListener("click", (event) => {
      const target = event.target instanceof Element ? event.target : null;
      if (target === dialog || target?.closest("[data-act=close]")) dialog.close();
    });
    dialog.addEventListener("change", (event) => {
      this.isOn = /** @type {HTMLInputElement} */ (event.target).checked;
      keep("keys", this.isOn ? "on" : "off");
    });
  }

  /** @param {KeyboardEvent} event */
  #pressed(event) {
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
    if (document.querySelector("dialog[open]")) return; // a dialog has its own
    const field = event.target instanceof Element ? event.target.closest("input, textarea, select, [contenteditable]") : null;
    if (event.key === "Escape") {
      if (field instanceof HTMLElement) field.blur();
      else if (this.act("close")) event.preventDefault();
      return;
    }
    if (field || !this.isOn) return;
    const isChord = Date.now() - this.#began < CHORD;
    this.#began = 0;
    const view = isChord && VIEWS.find(([, , , key]) => key === event.key);
    if (view) this.act(`go ${view[0]}`);
    else if (event.key === "g") this.#began = Date.now();
    else if (!this.act(`key ${event.key}`)) return;
    event.preventDefault();
  }

  help() {
    const rows = [...KEYS, ...VIEWS.map(([, name, , key]) => /** @type {[string, string]} */ ([`g ${key}`, name]))];
    fill(
      this.dialog,
      h("div.help", null, h("h2", { id: "help-title", tabindex: -1 }, h("span.wide", null, "Keys"), h("span.narrow", null, "More")), h("div.about"), h("h3.small.narrow", null, "Keys"), h("dl", null, rows.map(([key, what]) => [h("dt", null, key.split(/\s+/).map((one) => [h("kbd", null, one), " "])), h("dd", null, what)])), h("label.check", null, h("input", { type: "checkbox", name: "keys", checked: this.isOn }), "Single keys do something"), h("div.acts", null, button("Close", "close", { class: "main" }))),
    );
    this.dialog.showModal();
  }
}
