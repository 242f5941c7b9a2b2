/** Everything that happens, as it happens. It comes back by itself, from where it was, and says how it stands. */

import { address } from "./api.js";

/** @typedef {import("./wire.js").Happening} Happening */
/** @typedef {{state: "open"|"opening"|"lost", again: number}} Link `again`: when it is tried next, in ms since the epoch */

const FIRST = 500; // milliseconds
const MOST = 15_000;
const BEGINNING = 500; // characters of a body, which is what a line shows; what is opened is fetched
const SILENCE = 45_000; // the server says something every 15 s

/** Fires `event` (a Happening), `link` (a Link) and `gap` (what happened until now is not known: ask anew). */
export class Stream extends EventTarget {
  /** @type {EventSource|null} */
  #source = null;
  #cursor = "";
  #wait = FIRST;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #silence;
  /** Whether the room is gone with its server. */
  isPassing = false;
  /** @type {Link} */
  link = { state: "opening", again: 0 };

  /** @param {readonly string[]} types what the server may call its events */
  constructor(types) {
    super();
    this.types = types;
    addEventListener("online", () => this.now());
    document.addEventListener("visibilitychange", () => !document.hidden && this.link.state === "lost" && this.now());
  }

  /** Try at once. */
  now() {
    if (this.link.state === "open") return;
    this.#wait = FIRST;
    this.#open();
  }

  open() {
    this.#open();
  }

  /** For good. */
  close() {
    clearTimeout(this.#timer);
    clearTimeout(this.#silence);
    this.#source?.close();
    this.#source = null;
  }

  #open() {
    clearTimeout(this.#timer);
    this.#source?.close();
    const source = new EventSource(address("/stream", { after: this.#cursor, chars: BEGINNING }));
    this.#source = source;
    source.addEventListener("hello", (event) => this.#hello(/** @type {MessageEvent} */ (event)));
    for (const type of this.types) {
      source.addEventListener(type, (event) => this.#take(/** @type {MessageEvent} */ (event)));
    }
    source.onmessage = (event) => this.#take(event);
    source.onerror = () => this.#lose(source);
    this.#listen(source);
  }

  /** @param {MessageEvent} event */
  #hello(event) {
    const isFirst = this.#cursor === "";
    const hello = JSON.parse(event.data || "{}");
    if (isFirst) this.#cursor = event.lastEventId || String(hello.cursor ?? "");
    this.isPassing = Boolean(hello.passing);
    this.#wait = FIRST;
    this.#say({ state: "open", again: 0 });
    this.dispatchEvent(new CustomEvent("gap", { detail: { isFirst } })); // what happened before that hello
  }

  /** @param {MessageEvent} event */
  #take(event) {
    if (event.lastEventId) this.#cursor = event.lastEventId;
    if (this.#source) this.#listen(this.#source);
    this.dispatchEvent(new CustomEvent("event", { detail: JSON.parse(event.data) }));
  }

  /** A dead line may stay open for hours; a request that fails tells. @param {EventSource} source */
  #listen(source) {
    clearTimeout(this.#silence);
    this.#silence = setTimeout(() => this.#probe(source), SILENCE);
  }

  /** @param {EventSource} source */
  async #probe(source) {
    try {
      await fetch(address("/me"), { signal: AbortSignal.timeout(5000) });
      if (this.#source === source) this.#listen(source);
    } catch {
      this.#lose(source);
    }
  }

  /** @param {EventSource} source */
  #lose(source) {
    if (source !== this.#source) return;
    source.close();
    this.#source = null;
    clearTimeout(this.#silence);
    const wait = this.#wait * (0.8 + Math.random() * 0.4); // not all pages at once
    this.#wait = Math.min(MOST, this.#wait * 2);
    this.#say({ state: "lost", again: Date.now() + wait });
    this.#timer = setTimeout(() => this.#open(), wait);
  }

  /** @param {Link} link */
  #say(link) {
    this.link = link;
    this.dispatchEvent(new CustomEvent("link"));
  }
}
