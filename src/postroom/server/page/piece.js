/** Pieces of the page that several views have in common. */

import { h } from "./element.js";
import { counted, summaryOf } from "./ladder.js";
import { rail } from "./rail.js";
import { opened } from "./router.js";
import { atHome } from "./shell.js";
import { found } from "./sieve.js";
import { gist, plain, sentence } from "./text.js";
import { brief, clock, full } from "./time.js";

/** @typedef {import("./store.js").Brief} Brief */
/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./element.js").Child} Child */
/** @typedef {import("./wire.js").Message} Message */

/** A moment, with all of it for who asks. @param {string} iso @param {boolean} [isExact] */
export const moment = (iso, isExact = false) => h("time", { datetime: iso, title: full(iso) }, isExact ? clock(iso) : brief(iso));

/** Somebody's name, whatever letters it is made of. @param {string} name */
export const bdi = (name) => h("bdi", null, plain(name));

/** Where a message goes, as people say it. @param {string} to */
export const target = (to) => (to.startsWith("topic:") ? `#${to.slice(6)}` : to);

/** Between who wrote and who is written to; read out as a word. */
export const arrow = () => [" ", h("span.arrow", { "aria-hidden": "true" }, "→"), h("span.hidden", null, " to "), " "];

/** Who wrote to whom. @param {{sender: string, to: string, project: string}} message @param {Store} store */
export const parties = ({ sender, to, project }, store) => h("span.parties", null, bdi(store.called(sender, project)), arrow(), bdi(target(store.called(to, project))));

/** What is out of the ordinary about a message. @param {Brief|Message} message */
export function marks(message) {
  return [
    message.type !== "note" && h("span.mark", null, message.type.replaceAll("_", " ")),
    message.priority !== "normal" && h(`span.mark${message.priority === "urgent" ? ".strong" : ""}`, null, message.priority),
    message.requires_ack && h("span.mark", null, "asks for an ack"),
  ];
}

/** @param {Brief|Message} message @param {Store} store */
export function standingOf(message, store) {
  const found = summaryOf(message, store.agent);
  return {
    found,
    drawn: rail(counted(message)),
    word: h(`span.word.${found.tone}`, { title: found.detail }, found.word),
  };
}

/** The beginning of a body, or of a message that was searched for the place where it was found. @param {Brief} message @param {string} query */
function excerpt({ snippet, excerpt: text }, query) {
  if (!snippet || snippet.field === "subject") return marked(text, query);
  const points = [...snippet.text]; // in which the room counts
  const said = (/** @type {number} */ from, /** @type {number} */ to) => plain(points.slice(from, to).join(""));
  const parts = [];
  let at = 0;
  for (const [from, to] of snippet.marks) {
    parts.push(said(at, from), h("mark", null, said(from, to)));
    at = to;
  }
  return [...parts, said(at, points.length)];
}

/** With what was searched for marked. @param {string} text @param {string} query */
function marked(text, query) {
  const parts = [];
  let at = 0;
  for (const [from, to] of query ? found(query, text) : []) {
    parts.push(text.slice(at, from), h("mark", null, text.slice(from, to)));
    at = to;
  }
  return [...parts, text.slice(at)];
}

/** A line of a list of messages. @param {Brief} message @param {Store} store @param {{isCurrent?: boolean, isOpen?: boolean, query?: string}} [how] */
export function row(message, store, how = {}) {
  const { drawn, word } = standingOf(message, store);
  const { query = "" } = how;
  return h(
    "li.row",
    { "data-key": message.id },
    h(
      "a.line",
      { href: opened({ message: message.id }), tabindex: how.isCurrent === false ? -1 : 0, "aria-current": how.isOpen ? "true" : null },
      h("span.when", null, moment(message.created_at)),
      h("span.head", null, parties(message, store), marks(message)),
      h("span.gist", { dir: "auto" }, message.subject && h("b", null, marked(gist(message.subject, 120), query), " "), h("span", null, excerpt(message, query))),
      h("span.stand", null, drawn, word),
    ),
  );
}

/** Where there is nothing: what to run next. @param {string} title @param {Child} text @param {...string} commands */
export const empty = (title, text, ...commands) =>
  h("div.empty", null, h("h3", null, title), h("p", null, text), commands.length ? h("pre.commands", { tabindex: 0 }, commands.map(atHome).join("\n")) : null);

/** A command for a terminal, to be copied. @param {string} text */
export function command(text) {
  const whole = atHome(text);
  return h("span.command", null, h("code", null, plain(whole)), button("Copy", "copy", { class: "plain", "data-text": whole, "aria-label": `Copy: ${plain(whole)}` }));
}

/** @param {Error|null} fault */
export const trouble = (fault) =>
  fault && h("p.fault", { role: "alert" }, sentence(fault.message), "hint" in fault && fault.hint ? h("span.hint", null, ` ${fault.hint}`) : null);

/**
 * @param {string} label
 * @param {string} act what is done: the view's listener looks at it
 * @param {import("./element.js").Attributes} [attributes]
 */
export const button = (label, act, attributes = {}) => h("button", { type: "button", "data-act": act, ...attributes }, label);
