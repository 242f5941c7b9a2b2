/** A conversation from its first message on. */

import { get } from "../api.js";
import { fill, h } from "../element.js";
import { LetterBody } from "../letter.js";
import { arrow, bdi, marks, moment, standingOf, target, trouble } from "../piece.js";
import { opened } from "../router.js";
import { gist, many } from "../text.js";

/** @typedef {import("../wire.js").Message} Message */
/** @typedef {import("../desk.js").Desk} Desk */

const MOST = 300;

export class ThreadView {
  title = "Thread";
  /** @type {Message[]} */
  #messages = [];
  /** @type {Map<string, LetterBody>} */
  #bodies = new Map();
  /** @type {Error|null} */
  #fault = null;
  #isLoaded = false;
  #isCut = false;
  #loads = 0;
  #loaded = 0;
  #ref;
  #abort = new AbortController();

  /** @param {Desk} desk @param {Record<string, string>} params */
  constructor(desk, params) {
    this.desk = desk;
    this.#ref = params.thread ?? "";
    this.element = h("article.thread");
    this.element.addEventListener("click", (event) => {
      const letter = event.target instanceof Element && event.target.closest("[data-act=whole]") ? event.target.closest("li[data-key]") : null;
      if (letter) this.#bodies.get(letter.getAttribute("data-key") ?? "")?.whole();
      if (letter) this.update();
    });
    void this.#load();
    this.update();
  }

  /** @param {Record<string, string>} params */
  turn(params) {
    if (!params.thread || params.thread === this.#ref) return this.update();
    this.#ref = params.thread;
    this.#messages = [];
    this.#isLoaded = false;
    void this.#load();
    return this.update();
  }

  async #load() {
    const ref = this.#ref;
    const load = (this.#loads += 1);
    const asked = this.desk.store.clock;
    try {
      const page = await get("/messages", { thread: ref, limit: MOST }, this.#abort.signal);
      if (ref !== this.#ref || load < this.#loaded) return;
      this.#loaded = load;
      this.#messages = page.messages.toReversed();
      this.#isCut = Boolean(page.next);
      this.#isLoaded = true;
      this.#fault = null;
      for (const message of this.#messages) this.desk.store.keep(message, asked);
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.#fault = /** @type {Error} */ (error);
    }
    this.update();
  }

  /** @param {import("../wire.js").Happening} happening */
  happened(happening) {
    if (happening.type === "message.sent" && happening.payload.message?.thread === this.#ref) void this.#load();
  }

  caughtUp() {
    void this.#load();
  }

  update() {
    const [first] = this.#messages;
    this.title = first ? gist(first.subject || first.body, 60) : "Thread";
    const people = new Set(this.#messages.map((one) => one.sender));
    fill(
      this.element,
      h("header.letter-head", { "data-key": "head" }, h("h2", { tabindex: -1, dir: "auto" }, first ? gist(first.subject || first.body, 120) : "Thread"), this.#isLoaded ? h("p.meta", null, `${many(this.#messages.length, "message")} of ${[...people].join(", ")}`) : h("p.quiet", null, "Opening …")),
      trouble(this.#fault),
      this.#isCut ? h("p.quiet", null, `Only the latest ${MOST} messages are shown.`) : null,
      h("ol.letters", { role: "list" }, this.#messages.map((one) => this.#letter(one))),
    );
  }

  /** @param {Message} message */
  #letter(message) {
    const known = this.desk.store.message(message.id);
    const { drawn, word } = standingOf(known ?? message, this.desk.store);
    let body = this.#bodies.get(message.id);
    if (!body) this.#bodies.set(message.id, (body = new LetterBody()));
    return h(
      "li",
      { "data-key": message.id },
      h("h3", null, bdi(message.sender), arrow(), bdi(target(message.to)), h("span.dim", null, " ", moment(message.created_at, true)), marks(message)),
      body.draw(message),
      h("p.stand", null, drawn, word, h("a", { href: opened({ message: message.id }) }, "Open")),
    );
  }

  close() {
    this.#abort.abort();
  }
}
