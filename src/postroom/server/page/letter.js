/** What a message says, as text and nothing else. */

import { address, segment } from "./api.js";
import { h } from "./element.js";
import { button } from "./piece.js";
import { isCode, many, plain } from "./text.js";

/** @typedef {import("./wire.js").Message} Message */

const MOST = 12_000; // characters that are shown unasked

/** A body that is shown in part at first if it is long. */
export class LetterBody {
  #isWhole = false;

  whole() {
    this.#isWhole = true;
  }

  /** @param {Message} message */
  draw(message) {
    const { body, payload, attachments } = message;
    const isLong = body.length > MOST && !this.#isWhole;
    const shown = isLong ? body.slice(0, MOST) : body;
    return h(
      "div.letter",
      { "data-key": "letter" },
      body ? passages(isLong ? `${shown}…` : shown).map((text) => h(`div.body${isCode(text) ? ".code" : ""}`, { dir: "auto" }, plain(text))) : null,
      isLong ? h("p.cut", null, button(`Show all ${many(body.length, "character")}`, "whole")) : null,
      payload && Object.keys(payload).length ? h("details.payload", null, h("summary", null, "Payload"), h("pre", { tabindex: 0 }, plain(JSON.stringify(payload, null, 2)))) : null,
      attachments?.length ? files(message) : null,
    );
  }
}

/** Prose, and what stands between fences, each by itself; nothing is left out but the empty lines between them. @param {string} body */
const passages = (body) => body.split(/(?:^|\n)(```[^\n]*\n[\s\S]*?\n```)(?=\n|$)/).map((text) => text.replace(/^\s*\n|\s+$/g, "")).filter(Boolean);

/** @param {Message} message */
function files(message) {
  return h(
    "ul.files",
    { "aria-label": "Attachments" },
    (message.attachments ?? []).map((one, n) =>
      h("li", null, h("a", { href: address(`/messages/${segment(message.id)}/attachments/${n + 1}`), download: one.name ?? "" }, plain(one.name ?? `attachment ${n + 1}`)), h("span.dim", null, one.size === undefined ? "" : ` ${one.size.toLocaleString("en")} bytes`)),
    ),
  );
}
