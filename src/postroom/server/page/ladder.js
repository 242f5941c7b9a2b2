/** How far a delivery got: the ladder, and what it says in a word. */

import { EVIDENCE, waitBrief, waitLong } from "./word.js";

/** @typedef {import("./wire.js").Delivery} Delivery */
/** @typedef {import("./wire.js").State} State */
/** @typedef {import("./wire.js").Agent} Agent */

/** @type {readonly State[]} */
export const RUNGS = ["stored", "offered", "seen", "acked"];

/** @param {State} state */
export const isExit = (state) => !RUNGS.includes(state);

/** The highest rung that was reached, 0 to 3, even if it was left by an exit. @param {Delivery} delivery */
export function height(delivery) {
  const rung = RUNGS.indexOf(delivery.state);
  if (rung >= 0) return rung;
  if (delivery.seen_at) return 2;
  return delivery.offered_at ? 1 : 0;
}

/** When a rung was reached. @param {Delivery} delivery @param {State} rung @returns {string|undefined} */
export function reachedAt(delivery, rung) {
  return { stored: delivery.stored_at, offered: delivery.offered_at, seen: delivery.seen_at, acked: delivery.acked_at }[
    /** @type {"stored"|"offered"|"seen"|"acked"} */ (rung)
  ];
}

/**
 * Why a delivery waits; what its recipient does now tells more than what was so when it was stored.
 * @param {Delivery} delivery
 * @param {Agent|undefined} agent
 * @returns {string|null}
 */
export function reason(delivery, agent) {
  if (delivery.state === "offered") return delivery.reason ?? null;
  if (delivery.state !== "stored") return null;
  if (delivery.reason && delivery.reason !== "busy" && delivery.reason !== "waking") return delivery.reason;
  if (!agent || agent.kind === "human") return delivery.reason ?? null;
  if (agent.manners?.paused) return "paused";
  const session = agent.sessions.find((one) => one.presence !== "gone");
  if (!session) return agent.reach === "live" ? null : "offline";
  if (session.presence === "permission") return "approval";
  if (session.presence === "busy") return "busy";
  return delivery.reason ?? null;
}

/**
 * @typedef {object} Standing
 * @property {string} word
 * @property {string} detail a sentence
 * @property {"fine"|"waits"|"trouble"} tone
 */

/** Whether its mail is typed. @param {Agent|undefined} agent */
const isTyped = (agent) => ["tmux", "pty"].includes(agent?.sessions.find((one) => one.presence !== "gone")?.bridge ?? "");

/** Reasons that pass by themselves. */
const PASSING = new Set(["busy", "waking", "scheduled", "digest", "rate_limited", "api_error", "deferred", "taken", "in_hand", "unproven", "unacknowledged"]);

/**
 * One delivery in a word.
 * @param {Delivery} delivery
 * @param {Agent|undefined} agent
 * @returns {Standing}
 */
export function standing(delivery, agent) {
  const { state } = delivery;
  if (isExit(state)) return { word: state, detail: delivery.reason || state, tone: state === "withdrawn" ? "waits" : "trouble" };
  if (state === "seen" || state === "acked") {
    const proof = delivery.evidence ? EVIDENCE[delivery.evidence] : "";
    return { word: state, detail: proof ? `Evidence: ${proof}.` : state, tone: "fine" };
  }
  const why = reason(delivery, agent);
  if (!why) return { word: state, detail: state === "stored" ? (agent?.kind === "human" ? "It is stored, for a person to read here or with postroom read." : "It is stored, and not offered yet.") : "It was offered; nothing proves yet that it was read.", tone: "waits" };
  return {
    word: state === "offered" && why === "unproven" ? "offered" : `waits: ${waitBrief(why)}`,
    detail: why === "busy" && isTyped(agent) ? "It is at work. This is typed into its terminal when it is done." : waitLong(why),
    tone: PASSING.has(why) ? "waits" : "trouble",
  };
}

/**
 * Those that tell how far a message got: of one for whoever is first, that one's.
 * @param {{to: string, deliveries: Delivery[]}} message
 */
export function counted({ to, deliveries }) {
  const first = to.startsWith("one:") ? deliveries.find((one) => !isExit(one.state) && height(one) > 1) : undefined;
  return first ? [first] : deliveries;
}

/**
 * A message in a word.
 * @param {{to: string, deliveries: Delivery[]}} message
 * @param {(id: string) => Agent|undefined} who
 * @returns {Standing}
 */
export function summaryOf(message, who) {
  const told = counted(message);
  const found = summary(told, who);
  return told === message.deliveries ? found : { ...found, word: `${found.word} by ${told[0]?.recipient}` };
}

/**
 * All deliveries of a message in a word.
 * @param {Delivery[]} deliveries
 * @param {(id: string) => Agent|undefined} who
 * @returns {Standing}
 */
export function summary(deliveries, who) {
  const [first] = deliveries;
  if (!first) return { word: "stored", detail: "It is stored; nobody was there to get it.", tone: "waits" };
  if (deliveries.length === 1) return standing(first, who(first.recipient_id));
  const lost = deliveries.filter((one) => isExit(one.state) && one.state !== "withdrawn");
  if (lost.length) {
    return { word: `${lost.length} of ${deliveries.length} ${lost[0]?.state}`, detail: lost.map((one) => one.recipient).join(", "), tone: "trouble" };
  }
  const top = Math.max(...deliveries.map(height));
  if (top === 0) {
    const each = deliveries.map((one) => standing(one, who(one.recipient_id)));
    return each.find((one) => one.tone === "trouble") ?? /** @type {Standing} */ (each[0]);
  }
  const there = deliveries.filter((one) => height(one) >= top).length;
  const word = there === deliveries.length ? `${RUNGS[top]} by all` : `${RUNGS[top]} by ${there} of ${deliveries.length}`;
  return { word: top === 1 ? word.replace(" by ", " to ") : word, detail: deliveries.map((one) => `${one.recipient}: ${one.state}`).join(", "), tone: top > 1 ? "fine" : "waits" };
}
