/** The room's words, explained. The command line says the same. */

/** @type {Record<string, string>} */
export const EVIDENCE = {
  transcript: "its transcript has it, and an answer after it",
  runtime_ack: "its runtime ended a turn with it",
  boundary: "a later event of the same session",
  terminal: "its composer held it and was cleared",
  agent: "its own act",
  inbox: "it was taken out of an inbox of its runtime; nothing says more",
  imported: "files of another tool say so",
};

/** @type {Record<string, string>} */
export const OUTCOME = {
  open: "in hand now",
  proven: "proven",
  lost: "never handed over",
  unproven: "unproven",
  uncertain: "uncertain",
  refused: "refused",
};

/** Why something waits: a few words for a line, and a sentence. @type {Record<string, [string, string]>} */
const WAIT = {
  busy: ["at work", "It is at work, and gets this after a tool or at the end of its turn."],
  approval: ["needs a person", "It waits for a person’s answer, and takes nothing before."],
  offline: ["not running", "Nothing of it runs. It gets this when it is started."],
  waking: ["being woken", "It is idle, and is being woken."],
  draft: ["draft in its terminal", "Somebody has written something in its terminal and not sent it."],
  left_text: ["behind a text of ours", "In its terminal an earlier text of ours stands, and was not sent off. See: postroom attach"],
  typing: ["somebody types there", "Somebody is typing in its terminal."],
  copy_mode: ["terminal scrolled back", "Its terminal is scrolled back (copy mode)."],
  synchronised: ["pane synchronised", "Its pane is synchronised with others; nothing is typed there."],
  background: ["other program in front", "Another program has its terminal."],
  too_long: ["terminal too small", "Its terminal is too small to show this; it was told where to read it."],
  unknown_screen: ["screen not understood", "Its screen shows nothing that is known; nothing is typed there."],
  uncertain: ["uncertain", "It was handed over once, and nobody can tell what became of it. Only a person lets it be tried again."],
  unproven: ["not proven yet", "It was handed over, and nothing proves yet that it was read."],
  unacknowledged: ["not acknowledged", "Its connections ended before they acknowledged it. It is pushed again after a pause; the agent can read it at once."],
  muted: ["muted", "It is muted."],
  paused: ["paused", "It is paused. Its mail waits until it is resumed."],
  quiet_hours: ["quiet hours", "It has quiet hours."],
  digest: ["for a digest", "It will be offered together with others."],
  deferred: ["comes again", "Its recipient refused it for now; it comes again later."],
  api_error: ["refused by its API", "The API refuses its agent's requests; one is tried again at the time given."],
  rate_limited: ["gets many", "It gets many messages; this one waits its turn."],
  stop_cap: ["enough in a row", "It has gone on for mail three times; now it needs a person’s word, or ten minutes."],
  scheduled: ["scheduled", "It is not due yet."],
  taken: ["taken by another", "Another of those to whom it was sent has taken it."],
  in_hand: ["in hand", "A program that listens has it; it counts as seen when that asks for the next one."],
};

/** @param {string} reason */
export const waitBrief = (reason) => WAIT[reason]?.[0] ?? reason.replaceAll("_", " ");

/** @param {string} reason */
export const waitLong = (reason) => WAIT[reason]?.[1] ?? reason.replaceAll("_", " ");

/** What stopping means, where a bridge has a way to do it. @type {Record<string, string>} */
export const STOPS = {
  stop: "Ends what it does now. It may go on when new mail comes.",
  pause: "Stops it, and holds its mail, urgent or not, until it is resumed.",
  cancel: "Stops it, and sends what it was asked and has not answered back to who asked.",
};

/** And where it can only be told. @type {Record<string, string>} */
export const TELLS = {
  stop: "Sends it an urgent message. It goes on until it has read that.",
  pause: "Holds its mail, urgent or not, until it is resumed, and tells it to stop.",
  cancel: "Sends what it was asked and has not answered back to who asked, and tells it to stop.",
};

/** Why stopping may come to nothing. @type {Record<string, string>} */
export const HINDERS = {
  unreached: "It can only be told: no bridge reaches it.",
  unable: "It can only be told: its bridge has no way to stop it.",
  dialog: "Nothing will be pressed: its screen shows a dialog, and a key would answer that.",
  unknown: "Nothing will be pressed: its screen is not known.",
};

/** @type {Record<string, string>} */
const ROUTE = {
  api: "a program",
  ask: "its own question",
  cli: "the command line",
  acp: "ACP",
  codex: "its app-server",
  opencode: "its server",
  tmux: "its terminal",
  pty: "its terminal",
  files: "its file mailbox",
  listen: "its own program",
  websocket: "its connection",
  http: "HTTP",
  import: "an import",
  none: "its own act",
};

/** @param {string|null|undefined} route */
export function routeName(route) {
  if (!route) return "";
  return route.startsWith("hook:") ? `its hook at ${route.slice(5)}` : (ROUTE[route] ?? route);
}

/** What each event means, for a timeline. @type {Record<string, string>} */
export const HAPPENED = {
  "message.sent": "stored",
  "message.redacted": "redacted",
  "delivery.offered": "offered",
  "delivery.handed": "handed over",
  "delivery.seen": "seen",
  "delivery.acked": "acknowledged",
  "delivery.returned": "back in the queue",
  "delivery.bounced": "bounced",
  "delivery.expired": "expired",
  "delivery.withdrawn": "withdrawn",
  "delivery.dead": "given up",
  "delivery.retried": "to be tried again",
  "delivery.held": "held back",
  "delivery.deferred": "refused for now",
  "delivery.due": "due",
  "delivery.freed": "free for another",
  "delivery.taken": "taken",
  "delivery.labelled": "labelled: may have been shown before",
  "gate.decided": "decided",
  "gate.withdrawn": "question withdrawn",
};
