/** What an agent does, how that is known, and whether somebody should look after it. */

import { ago } from "./time.js";
import { many } from "./text.js";

/** @typedef {import("./wire.js").Agent} Agent */
/** @typedef {import("./wire.js").Session} Session */

/**
 * @typedef {object} Doing
 * @property {"busy"|"idle"|"stuck"|"paused"|"off"|"person"|"left"} state
 * @property {string} word
 * @property {string} evidence how that is known
 * @property {string} trouble what somebody should look at; empty: nothing
 * @property {string} until what its mail waits for; empty: nothing that lasts
 */

/** @type {Record<string, string>} */
const TITLE = { claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI", opencode: "opencode", aider: "Aider", goose: "goose", qwen: "Qwen Code", copilot: "Copilot CLI" };

/** @param {string|null} runtime */
export const runtimeName = (runtime) => (runtime ? (TITLE[runtime] ?? runtime) : "");

/** The session that is reached soonest. @param {Agent} agent */
export const session = (agent) => agent.sessions.find((one) => one.presence !== "gone") ?? null;

/** What waits for it, held or not. @param {Agent} agent */
export const inbox = (agent) => agent.waiting + agent.held;

/** @param {Agent} agent @returns {Doing} */
export function doing(agent) {
  const one = session(agent);
  if (agent.left_at) return { state: "left", word: "has left", evidence: `since ${ago(agent.left_at)}`, trouble: "", until: "" };
  if (agent.kind === "human") return { state: "person", word: "a person", evidence: "", trouble: "", until: "" };
  const count = inbox(agent);
  const waits = count ? `${many(count, "message")} ${count === 1 ? "waits" : "wait"}` : "";
  const doubt = agent.uncertain ? `of ${many(agent.uncertain, "message")} nobody can tell what became of it` : "";
  if (agent.manners?.paused) return { state: "paused", word: "paused", evidence: one ? known(one) : "", trouble: waits && `is paused; ${waits} until it is resumed`, until: "until it is resumed" };
  if (!one) {
    if (agent.reach === "live") return { state: "idle", word: "listening", evidence: "a program of its own listens", trouble: doubt, until: "" };
    return { state: waits ? "stuck" : "off", word: "not running", evidence: agent.bridge?.because ?? "", trouble: waits ? `does not run; ${waits}` : doubt, until: "until it is started" };
  }
  switch (one.presence) {
    case "permission":
      return { state: "stuck", word: "needs a person", evidence: known(one), trouble: ["needs a person’s permission to go on", waits].filter(Boolean).join("; "), until: "until a person has answered" };
    case "busy":
      return { state: "busy", word: "working", evidence: known(one), trouble: doubt, until: "" };
    case "idle":
      return { state: "idle", word: "idle", evidence: known(one), trouble: doubt, until: "" };
    default:
      return { state: waits ? "stuck" : "off", word: "no sign of life", evidence: known(one), trouble: waits ? `runs, and shows no sign of life; ${waits}` : doubt, until: "until it shows a sign" };
  }
}

/** How it is known what a session does. @param {Session} one */
export function known(one) {
  const when = one.since ? ago(one.since) : "";
  if (one.because) return [one.because, when].filter(Boolean).join(", ");
  if (one.event) return `its last event: ${one.event}, ${when}`;
  return when ? `last seen ${when}` : "it runs, and left no sign";
}

/** How mail gets to it. @param {Agent} agent */
export function reached(agent) {
  if (agent.left_at) return "Not any more.";
  if (agent.kind === "human") return "Reads mail here, or with postroom inbox.";
  const one = session(agent);
  if (!one) {
    return agent.reach === "live" ? "At once: a program of its own listens." : "Not now: mail is kept until it is started or reads its inbox.";
  }
  const doubt = one.proven ? "" : " This was never proven to arrive.";
  const name = runtimeName(one.runtime);
  if (one.bridge) return `By ${one.bridge === "tmux" || one.bridge === "pty" ? "its terminal" : `the bridge ${one.bridge}`}${name ? `, in ${name}` : ""}.${doubt}`;
  if (one.presence === "idle") return one.wake ? `By hooks of ${name}; it is woken when mail comes.${doubt}` : `By hooks of ${name}, at its next prompt.${doubt}`;
  if (one.presence === "busy") return `By hooks of ${name}, after its next tool.${doubt}`;
  return `By hooks of ${name}.${doubt}`;
}

const ORDER = ["stuck", "paused", "busy", "idle", "off", "person", "left"];

/** Those who need somebody first. @param {Iterable<Agent>} agents */
export function sorted(agents) {
  return [...agents]
    .map((agent) => ({ agent, doing: doing(agent) }))
    .sort((a, b) => ORDER.indexOf(a.doing.state) - ORDER.indexOf(b.doing.state) || a.agent.address.localeCompare(b.agent.address));
}
