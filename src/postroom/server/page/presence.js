/** What an agent does, how that is known, and whether somebody should look after it. */

import { ago } from "./time.js";
import { many } from "./text.js";

/** @typedef {import("./wire.js").Agent} Agent */
/** @typedef {import("./wire.js").Session} Session */

/**
 * @typedef {object} Doing
 * @property {"asks"|"stuck"|"paused"|"busy"|"idle"|"off"|"person"|"left"} state
 * @property {string} word
 * @property {string} evidence how that is known
 * @property {string} trouble what somebody should look at; empty: nothing
 * @property {string} until what its mail waits for; empty: nothing that lasts
 */

/** @type {Record<string, string>} */
const TITLE = { claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI", opencode: "opencode", aider: "Aider", goose: "goose", qwen: "Qwen Code", copilot: "Copilot CLI", cursor: "Cursor" };

const TERMINALS = ["tmux", "pty"]; // the bridges that see a screen

/** @param {string|null} runtime */
export const runtimeName = (runtime) => (runtime ? (TITLE[runtime] ?? runtime) : "");

/** The session that is reached soonest. @param {Agent} agent */
export const session = (agent) => agent.sessions.find((one) => one.presence !== "gone") ?? null;

/** What waits for it, held or not. @param {Agent} agent */
export const inbox = (agent) => agent.waiting + agent.held;

/** Whether something of it is there to be stopped. @param {Agent} agent */
export const runs = (agent) => !agent.left_at && (session(agent) !== null || agent.reach === "live");

/** @param {Agent} agent @returns {Doing} */
export function doing(agent) {
  if (agent.left_at) return { state: "left", word: "has left", evidence: `since ${ago(agent.left_at)}`, trouble: "", until: "" };
  if (agent.kind === "human") return { state: "person", word: "a person", evidence: "", trouble: "", until: "" };
  const found = present(agent);
  const count = inbox(agent);
  const waits = count ? `${many(count, "message")} ${count === 1 ? "waits" : "wait"}` : "";
  const doubt = agent.uncertain ? `of ${many(agent.uncertain, "message")} nobody can tell what became of it` : "";
  const state = found.state === "stuck" && !waits ? "off" : found.state;
  /** @type {Record<string, string>} */
  const said = { asks: ["needs a person’s answer to go on", waits].filter(Boolean).join("; "), stuck: `${found.word}; ${waits}`, paused: waits && `is paused; ${waits} until it is resumed` };
  const word = agent.told_to_stop ? `${found.word}, told to stop` : found.word;
  return { ...found, state, word, trouble: [said[state], doubt].filter(Boolean).join("; ") };
}

/** @param {Agent} agent @returns {Omit<Doing, "trouble">} */
function present(agent) {
  const one = session(agent);
  if (agent.manners?.paused) return { state: "paused", word: "paused", evidence: "it gets nothing until it is resumed", until: "until it is resumed" };
  if (!one) {
    if (agent.reach === "live") return { state: "idle", word: "listening", evidence: "a program of its own listens", until: "" };
    const evidence = agent.bridge?.doing === "gone" ? agent.bridge.because : "";
    return { state: "off", word: "not running", evidence, until: "until it is started" };
  }
  switch (one.presence) {
    case "permission":
      return { state: "asks", word: "needs a person", evidence: known(one), until: "until a person has answered" };
    case "busy":
      return { state: "busy", word: "working", evidence: known(one), until: "" };
    case "idle":
      return { state: "idle", word: "idle", evidence: known(one), until: "" };
    default:
      return { ...unknown(agent, one), evidence: known(one) };
  }
}

/** A screen that says nothing is no sign of death. Stuck, if mail waits. @param {Agent} agent @param {Session} one @returns {Pick<Doing, "state"|"word"|"until">} */
function unknown(agent, one) {
  const state = "stuck";
  if (!one.bridge) return { state, word: "no sign of life", until: "until it shows one" };
  if (agent.bridge?.reason === "unknown_screen") return { state, word: "its screen is not known", until: "until its screen is known" };
  if (agent.bridge?.doing !== "starting" && !TERMINALS.includes(one.bridge)) return { state: "idle", word: one.bridge === "files" ? "mailbox served" : "running", until: "" };
  return { state, word: agent.bridge?.doing === "starting" ? "starting" : "not looked at yet", until: "until it has been looked at" };
}

/** How it is known what a session does. @param {Session} one */
export function known(one) {
  const when = one.since ? ago(one.since) : "";
  if (one.because) return when === "" || when === "just now" ? one.because : `seen ${when}: ${one.because.replace(/ ago$/, " before")}`;
  if (one.event) return `its last event: ${one.event}, ${when}`;
  return when ? `last seen ${when}` : "it runs, and left no sign";
}

/** What keeps it from being stopped, by its name in `HINDERS`; empty: nothing that is known. @param {Agent} agent */
export function hindrance(agent) {
  if (!agent.stops) return agent.sessions.some((one) => one.bridge && one.presence !== "gone") ? "unable" : "unreached";
  if (session(agent)?.presence === "permission") return "dialog";
  return agent.bridge?.reason === "unknown_screen" ? "unknown" : "";
}

/** The command that gets a person to its terminal; empty: that is not known. @param {Agent} agent */
export function attach(agent) {
  const one = session(agent);
  return one && (one.pane || TERMINALS.includes(one.bridge ?? "")) ? `postroom attach ${agent.address}` : "";
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
  if (one.bridge) return `By ${TERMINALS.includes(one.bridge) ? "its terminal" : `the bridge ${one.bridge}`}${name ? `, in ${name}` : ""}.${doubt}`;
  if (one.presence === "idle") return one.wake ? `By hooks of ${name}; it is woken when mail comes.${doubt}` : `By hooks of ${name}, at its next prompt.${doubt}`;
  if (one.presence === "busy") return `By hooks of ${name}, after its next tool.${doubt}`;
  return `By hooks of ${name}.${doubt}`;
}

/** @type {Doing["state"][]} */
const ORDER = ["asks", "stuck", "paused", "busy", "idle", "off", "person", "left"];

/** An agent that asks cannot go on without a person; then whatever else somebody should look at. @param {Doing} found */
const urgency = (found) => (found.state === "asks" ? 0 : found.trouble ? 1 : 2);

/** Those who need somebody first. @param {Iterable<Agent>} agents */
export function sorted(agents) {
  return [...agents]
    .map((agent) => ({ agent, doing: doing(agent) }))
    .sort((a, b) => urgency(a.doing) - urgency(b.doing) || ORDER.indexOf(a.doing.state) - ORDER.indexOf(b.doing.state) || a.agent.address.localeCompare(b.agent.address));
}
