/** What the page knows of the room: whole small tables, and of each message what a line of the log shows. */

import { Fault, get, segment } from "./api.js";
import { standIn } from "./shell.js";
import { gist } from "./text.js";

/** @typedef {import("./wire.js").Agent} Agent */
/** @typedef {import("./wire.js").Delivery} Delivery */
/** @typedef {import("./wire.js").Gate} Gate */
/** @typedef {import("./wire.js").Happening} Happening */
/** @typedef {import("./wire.js").Me} Me */
/** @typedef {import("./wire.js").Message} Message */
/** @typedef {import("./wire.js").Topic} Topic */
/** @typedef {import("./wire.js").DeadLetter} DeadLetter */

/**
 * A message as a line of the log has it: a body may be a megabyte, and there may be 100,000 of them.
 * `heard`: when an event last said something of it, by the clock of the store.
 * @typedef {Omit<Message, "body"|"payload"|"metadata"> & {excerpt: string, heard: number}} Brief
 */

const SETTLE = 250; // milliseconds: a burst of events asks once
const LOOK = 5000; // what sessions do is no event
const OFTEN = 1000; // nothing is asked for more often, whatever happens
const ASKS = 100; // requests to the person
const ROOM = "postroom"; // who writes what nobody else does
const KEPT = 150_000; // messages that are kept up to date

/** @param {Message} message @returns {Brief} */
export function briefly(message) {
  const { body, payload, metadata, ...rest } = message;
  return { ...rest, deliveries: message.deliveries ?? [], excerpt: gist(body), heard: 0 };
}

/** Fires `change` when anything is new, `mail` (a Brief) for a message that was just sent, and `refused` when the session is over. */
export class Store extends EventTarget {
  /** @type {Me} */
  me = { id: "", address: "", scopes: [], home: "" };
  /** @type {Map<string, Agent>} */
  agents = new Map();
  /** @type {string[]} */
  projects = [];
  /** @type {Topic[]} */
  topics = [];
  /** @type {Record<string, unknown>} */
  groups = {};
  /** Types of messages: their names, and whether they can be sent without a payload. @type {{name: string, isPlain: boolean}[]} */
  types = [];
  /** @type {Gate[]} */
  gates = [];
  /** What the person was asked, and has not answered; the oldest first. @type {Message[]} */
  asks = [];
  /** @type {DeadLetter[]} */
  dead = [];
  /** @type {DeadLetter[]} */
  uncertain = [];
  isReady = false;
  /** Counts what was heard, so that an answer that was asked for earlier is known to be older. */
  clock = 0;

  /** How many have a name. @type {Map<string, number>} */
  #names = new Map();
  /** @type {Map<string, Brief>} */
  #messages = new Map();
  /** Messages that became due, and were not held. @type {Set<string>} */
  #asked = new Set();
  /** @type {Set<string>} */
  #stale = new Set();
  /** @type {ReturnType<typeof setTimeout>|undefined} */
  #timer;
  #isFetching = false;
  #fetched = 0;

  /** May the person do that? @param {string} scope */
  may(scope) {
    return this.me.scopes.includes(scope);
  }

  /** What the person is to decide. */
  get mine() {
    return this.gates.filter((gate) => gate.mine);
  }

  /** What others are. */
  get others() {
    return this.gates.filter((gate) => !gate.mine);
  }

  /** @param {string} id */
  agent = (id) => this.agents.get(id);

  /** As it is called in every list: by its name, where only one here has that, else by its address. @param {string} written @param {string|null} project */
  called(written, project) {
    const name = written.slice(written.lastIndexOf("/") + 1);
    const count = this.#names.get(name) ?? 0;
    if (count === 1) return name;
    return count > 1 && name === written && project ? `${project}/${name}` : written;
  }

  /** The address of whoever is meant, as the room finds it from anywhere. @param {string} written @param {string|null} project */
  addressed(written, project) {
    const count = this.#names.get(written) ?? 0;
    if (count === 1) return this.named(written)?.address ?? written;
    return count > 1 && project ? `${project}/${written}` : written;
  }

  /** By address, or by a name that only one has. @param {string} name @param {string|null} [project] */
  named(name, project) {
    const all = [...this.agents.values()];
    const found = all.find((one) => one.address === name) ?? all.find((one) => one.name === name && one.project === project);
    return found ?? all.find((one) => one.name === name);
  }

  /**
   * A line of the log, the same object for the same message.
   * @param {Message} message
   * @param {number} [asked] the `clock` when it was asked for
   */
  keep(message, asked = this.clock) {
    const fresh = briefly(message);
    const kept = this.#messages.get(message.id);
    if (!kept) {
      this.#messages.set(message.id, fresh);
      if (this.#messages.size > KEPT) this.forget(/** @type {string} */ (this.#messages.keys().next().value));
      return fresh;
    }
    if (kept.heard > asked || !fresh.deliveries.length) fresh.deliveries = kept.deliveries;
    return Object.assign(kept, fresh, { heard: kept.heard });
  }

  /** It is shown nowhere any more. @param {string} id */
  forget(id) {
    this.#messages.delete(id);
  }

  /** @param {string} id */
  message(id) {
    return this.#messages.get(id);
  }

  /** Who calls, then everything; the projects first, for others are asked of each. */
  async begin(/** @type {() => void} */ admitted) {
    setInterval(() => document.hidden || this.invalidate("agents"), LOOK);
    document.addEventListener("visibilitychange", () => document.hidden || this.invalidate("agents", "gates", "asks", "dead"));
    await this.#table("me");
    admitted();
    await this.#table("projects");
    this.invalidate("agents", "topics", "groups", "gates", "asks", "dead", "types");
    await this.#fetch();
  }

  /** Say that a table is out of date; it is fetched soon. @param {...string} tables */
  invalidate(...tables) {
    for (const table of tables) this.#stale.add(table);
    const wait = Math.max(SETTLE, this.#fetched + OFTEN - Date.now());
    this.#timer ??= setTimeout(() => void this.#fetch(), wait);
  }

  async #fetch() {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#isFetching) {
      this.#timer = setTimeout(() => void this.#fetch(), SETTLE);
      return;
    }
    this.#isFetching = true;
    this.#fetched = Date.now();
    const tables = [...this.#stale];
    this.#stale.clear();
    const done = await Promise.allSettled(tables.map((table) => this.#table(table)));
    this.#isFetching = false;
    if (done.some((one) => one.status === "rejected" && one.reason instanceof Fault && one.reason.status === 401)) this.dispatchEvent(new CustomEvent("refused"));
    for (const table of tables.filter((_, place) => done[place]?.status === "rejected")) this.#stale.add(table); // and asked for with the next
    const isAny = done.some((one) => one.status === "fulfilled");
    this.isReady ||= isAny;
    if (isAny) this.#changed();
  }

  /** @param {string} table */
  async #table(table) {
    switch (table) {
      case "me": {
        const { id, agent, scopes, home } = await get("/me");
        this.me = { id: id ?? "", address: agent ?? "", scopes, home: home ?? "" };
        standIn(this.me.home);
        break;
      }
      case "agents": {
        const { agents } = await get("/agents", { everyone: true });
        this.agents = new Map(agents.map((/** @type {Agent} */ one) => [one.id, one]));
        this.#names = new Map();
        for (const { name } of this.agents.values()) this.#names.set(name, (this.#names.get(name) ?? 0) + 1);
        break;
      }
      case "projects": {
        const { projects } = await get("/projects");
        this.projects = projects.map((/** @type {{name: string}} */ one) => one.name);
        break;
      }
      case "topics":
        this.topics = (await Promise.all(this.projects.map((project) => get("/topics", { project })))).flatMap((one) => one.topics);
        break;
      case "groups":
        this.groups = Object.assign({}, ...(await Promise.all(this.projects.map((project) => get("/groups", { project })))).map((one) => one.groups));
        break;
      case "types": {
        const { types } = await get("/types");
        this.types = types.map((/** @type {any} */ one) => ({ name: one.name, isPlain: !one.schema?.required?.length }));
        break;
      }
      case "gates":
        this.gates = (await get("/gates")).gates;
        break;
      case "asks":
        this.asks = (await get("/inbox/requests", { limit: ASKS, chars: 200 })).requests;
        break;
      case "dead": {
        const found = await get("/dead");
        this.dead = found.dead;
        this.uncertain = found.uncertain ?? [];
        break;
      }
    }
  }

  /** Something happened. @param {Happening} happening */
  apply(happening) {
    const { type, payload, delivery } = happening;
    if (type === "message.sent" && payload.message) this.#sent(payload.message, happening.deliveries ?? []);
    else if (type === "delivery.due" && delivery && !this.#messages.has(delivery.message)) void this.#due(delivery.message);
    else if (delivery) this.#moved(delivery);
    if (type.startsWith("gate.") || payload.message?.type === "decision_gate" || this.gates.some((one) => one.message.id === delivery?.message)) this.invalidate("gates");
    if (payload.message?.type === "request" || delivery?.recipient_id === this.me.id) this.invalidate("asks");
    if (type === "agent.renamed") this.invalidate("me", "gates");
    if (/dead|retried|returned|bounced|expired|pruned/.test(type)) this.invalidate("dead");
    if (type.startsWith("topic.")) this.invalidate("topics");
    if (type.startsWith("project.") || type === "agent.joined") this.invalidate("projects", "topics", "groups"); // of a new project those come with the next change
    this.invalidate("agents");
    this.#changed();
  }

  /** @param {Message} message @param {Delivery[]} deliveries */
  #sent(message, deliveries) {
    if (message.sender_id === ROOM && message.not_before && deliveries.every((one) => "held_until" in one || one.state === "withdrawn")) return; // written ahead: it has not been said
    const brief = this.#messages.get(message.id) ?? this.keep({ ...message, deliveries }); // a page of mail may have had it first
    this.dispatchEvent(new CustomEvent("mail", { detail: brief }));
  }

  /** What the room wrote ahead is mail from now on. It is asked for once, for however many it is due. @param {string} id */
  async #due(id) {
    if (this.#asked.has(id)) return;
    if (this.#asked.size >= KEPT) this.#asked.clear();
    this.#asked.add(id);
    const message = await get(`/messages/${segment(id)}`).catch(() => null);
    if (!message) this.#asked.delete(id);
    if (message?.sender_id === ROOM) this.#sent(message, message.deliveries);
  }

  /** @param {Delivery} delivery */
  #moved(delivery) {
    const brief = this.#messages.get(delivery.message);
    if (!brief) return;
    const others = brief.deliveries.filter((one) => one.recipient_id !== delivery.recipient_id);
    const place = brief.deliveries.findIndex((one) => one.recipient_id === delivery.recipient_id);
    brief.heard = this.clock += 1;
    brief.deliveries = place < 0 ? [...others, delivery] : brief.deliveries.with(place, delivery);
  }

  #changed() {
    this.dispatchEvent(new CustomEvent("change"));
  }
}
