/** The messages that fit a filter, newest first, in pages; new ones join them as they come. */

import { get } from "./api.js";

/** @typedef {import("./store.js").Brief} Brief */
/** @typedef {import("./store.js").Store} Store */
/** @typedef {import("./sieve.js").Filter} Filter */

const FIRST = 60; // what a screen shows, quickly
const PAGE = 300;
const MOST = 4000; // rows that are kept while nobody has scrolled down
const CHARACTERS = 400; // of each body

export class Feed {
  /** @type {Brief[]} */
  rows = [];
  /** @type {Error|null} */
  fault = null;
  isLoading = false;
  isWhole = false;
  isStarted = false;
  /** @type {Set<string>} */
  #ids = new Set();
  /** @type {string|null} */
  #next = null;
  #abort = new AbortController();

  /**
   * @param {Store} store
   * @param {Filter} filter
   * @param {() => void} changed
   */
  constructor(store, filter, changed) {
    this.store = store;
    this.filter = filter;
    this.changed = changed;
  }

  /** The next page. */
  async more() {
    if (this.isLoading || this.isWhole) return;
    this.isLoading = true;
    this.fault = null;
    try {
      const query = { ...(await this.#asked()), before: this.#next, limit: this.isStarted ? PAGE : FIRST, chars: CHARACTERS };
      const asked = this.store.clock;
      const page = await get("/messages", query, this.#abort.signal);
      for (const message of page.messages) this.#put(this.store.keep(message, asked), false);
      this.#next = page.next ?? null;
      this.isWhole = this.#next === null;
      this.isStarted = true;
    } catch (error) {
      if (this.#abort.signal.aborted) return;
      this.fault = /** @type {Error} */ (error);
    } finally {
      this.isLoading = false;
    }
    this.changed();
  }

  /** What came while nobody listened. */
  async catchUp() {
    if (!this.isStarted) return this.more();
    try {
      const asked = this.store.clock;
      const page = await get("/messages", { ...(await this.#asked()), limit: FIRST, chars: CHARACTERS }, this.#abort.signal);
      const isJoined = page.messages.some((/** @type {{id: string}} */ one) => this.#ids.has(one.id));
      if (!isJoined && page.messages.length) {
        this.rows = []; // too much came: begin again
        this.#ids.clear();
        this.#next = page.next ?? null;
        this.isWhole = this.#next === null;
      }
      for (const message of page.messages.toReversed()) this.#put(this.store.keep(message, asked), isJoined || this.rows.length > 0);
    } catch {
      return undefined; // the banner says that the line is down
    }
    return this.changed();
  }

  /** A message was just sent: whether it belongs here. @param {Brief} brief */
  add(brief) {
    if (!this.isStarted || !this.#fits(brief)) return false;
    return this.#put(brief, true);
  }

  /** A page that is left open for days holds what is looked at, and fetches the rest again. */
  trim() {
    if (this.rows.length < MOST * 1.25) return;
    for (const brief of this.rows.splice(MOST)) {
      this.#ids.delete(brief.id);
      this.store.forget(brief.id);
    }
    this.#next = String(this.rows.at(-1)?.seq ?? "");
    this.isWhole = false;
  }

  close() {
    this.#abort.abort();
  }

  /** @param {Brief} brief @param {boolean} isNew */
  #put(brief, isNew) {
    if (this.#ids.has(brief.id)) return false;
    this.#ids.add(brief.id);
    if (isNew) this.rows.unshift(brief);
    else this.rows.push(brief);
    return true;
  }

  /** Names become addresses: whoever is called by one here must be known for that. @returns {Promise<Filter>} */
  async #asked() {
    const { sender, to, with: party } = this.filter;
    if (!sender && !to && !party) return this.filter;
    while (!this.store.isReady) await new Promise((done) => this.store.addEventListener("change", done, { once: true }));
    return { ...this.filter, sender: sender && this.#address(sender), to: to && this.#address(to), with: party && this.#address(party) };
  }

  /** @param {string} name */
  #address = (name) => this.store.addressed(name, this.filter.project ?? null);

  /** @param {string} name */
  #id = (name) => this.store.named(this.#address(name))?.id ?? name;

  /** @param {Brief} brief */
  #fits(brief) {
    const { project, topic, with: party, sender, to, type, state, q } = this.filter;
    if (project && brief.project !== project) return false;
    if (topic && brief.to !== `topic:${topic}`) return false;
    if (type && brief.type !== type) return false;
    if (state && !brief.deliveries.some((one) => one.state === state)) return false;
    if (sender && brief.sender_id !== this.#id(sender)) return false;
    if (to && brief.to !== to && !brief.deliveries.some((one) => one.recipient_id === this.#id(to))) return false;
    if (party) {
      const id = this.#id(party);
      const isParty = brief.sender_id === id || brief.deliveries.some((one) => one.recipient_id === id);
      if (!isParty) return false;
    }
    const text = `${brief.subject ?? ""} ${brief.excerpt}`.toLowerCase();
    return (q ?? "").toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }
}
