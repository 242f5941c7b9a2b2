/** One message: what it says, how far it got with each recipient, on what evidence, and everything that happened to it. */

import { get, post, segment } from "../api.js";
import { fill, h } from "../element.js";
import { RUNGS, height, isExit, reachedAt, standing } from "../ladder.js";
import { LetterBody } from "../letter.js";
import { arrow, button, empty, bdi, marks, moment, target, trouble } from "../piece.js";
import { go, here, opened } from "../router.js";
import { gist, many, plain } from "../text.js";
import { between, clock, left } from "../time.js";
import { EVIDENCE, HAPPENED, OUTCOME, routeName } from "../word.js";

/** @typedef {import("../wire.js").Message} Message */
/** @typedef {import("../wire.js").Delivery} Delivery */
/** @typedef {import("../wire.js").Happening} Happening */
/** @typedef {import("../desk.js").Desk} Desk */

export class MessageView {
  title = "Message";
  /** @type {Message|null} */
  #message = null;
  /** @type {Happening[]} */
  #timeline = [];
  /** @type {Error|null} */
  #fault = null;
  #isReplying = false;
  #isAwaited = false;
  #loads = 0;
  #loaded = 0;
  #ref;
  #abort = new AbortController();
  #body = new LetterBody();

  /** @param {Desk} desk @param {Record<string, string>} params */
  constructor(desk, params) {
    this.desk = desk;
    this.#ref = params.message ?? "";
    this.#isReplying = this.#isAwaited = Boolean(params.reply);
    this.element = h("article.message");
    this.element.addEventListener("click", (event) => void this.#clicked(event));
    this.element.addEventListener("submit", (event) => void this.#reply(event));
    this.element.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void this.#reply(event);
    });
    void this.#load();
    this.update();
  }

  /** @param {Record<string, string>} params */
  turn(params) {
    if (params.reply) this.#isAwaited = true;
    if (params.message === this.#ref || !params.message) {
      this.#isReplying ||= Boolean(params.reply);
      return this.update();
    }
    this.#ref = params.message;
    this.#message = null;
    this.#timeline = [];
    this.#isReplying = Boolean(params.reply);
    this.#body = new LetterBody();
    void this.#load();
    return this.update();
  }

  async #load() {
    const ref = this.#ref;
    const load = (this.#loads += 1);
    try {
      const path = `/messages/${segment(ref)}`;
      const [receipts, timeline] = await Promise.all([get(`${path}/receipts`, {}, this.#abort.signal), get(`${path}/timeline`, {}, this.#abort.signal)]);
      if (ref !== this.#ref || load < this.#loaded) return; // what was asked for later is there already
      this.#loaded = load;
      this.#message = { ...receipts.message, deliveries: receipts.deliveries };
      this.#timeline = timeline.events ?? [];
      this.#fault = null;
    } catch (error) {
      if (this.#abort.signal.aborted || ref !== this.#ref) return;
      this.#fault = /** @type {Error} */ (error);
    }
    this.update();
  }

  /** @param {Happening} happening */
  happened(happening) {
    if (happening.refs?.message === this.#message?.id && this.#message) void this.#load();
  }

  caughtUp() {
    void this.#load();
  }

  update() {
    const message = this.#message;
    if (!message) {
      const brief = this.desk.store.message(this.#ref);
      fill(this.element, h("header.letter-head", { "data-key": "head" }, h("h2", { tabindex: -1 }, brief ? gist(brief.subject || brief.excerpt, 90) : "Message")), this.#fault ? trouble(this.#fault) : h("p.quiet", null, "Opening …"));
      return;
    }
    this.title = gist(message.subject || message.body, 60);
    fill(
      this.element,
      this.#head(message),
      this.#body.draw(message),
      this.#answer(message),
      h("section.deliveries", { "data-key": "deliveries", "aria-label": "How far it got" }, message.deliveries.length ? message.deliveries.map((one) => this.#delivery(one)) : empty("Nobody", "Nobody was there to get it.")),
      this.#history(),
      trouble(this.#fault),
    );
    this.#focusReply();
  }

  /** @param {Message} message */
  #head(message) {
    return h(
      "header.letter-head",
      { "data-key": "head" },
      h("h2", { tabindex: -1, dir: "auto" }, gist(message.subject, 300) || `${plain(message.sender)} to ${target(message.to)}`),
      h("p.meta", null, bdi(message.sender), message.sender_role && message.sender_role !== message.sender ? h("span.dim", null, `, ${plain(message.sender_role)}`) : null, arrow(), bdi(target(message.to)), h("span.dim", null, " · ", moment(message.created_at, true), message.project ? ` · ${plain(message.project)}` : "")),
      h("p.marks", null, marks(message), message.verified ? h("span.mark", { title: message.verified === "unverified" ? "Nothing proves who sent this." : "How it is known who sent this." }, message.verified === "unverified" ? "sender unverified" : `sender known by ${message.verified.replaceAll("_", " ")}`) : null, message.expires_at ? h("span.mark", null, `expires: ${left(message.expires_at)}`) : null, h("code.handle", { title: message.id }, message.handle)),
    );
  }

  /** @param {Message} message */
  #answer(message) {
    const { store } = this.desk;
    const mine = message.deliveries.find((one) => one.recipient_id === store.me.id);
    const isMine = message.sender_id === store.me.id;
    const isGate = message.type === "decision_gate" && store.mine.some((gate) => gate.message.id === message.id);
    const isOpen = message.deliveries.some((one) => one.state === "stored" || one.state === "offered");
    const acts = h(
      "div.acts",
      { "data-key": "acts" },
      store.may("mail") && !this.#isReplying ? button("Reply", "reply", { class: "main", "aria-keyshortcuts": "r" }) : null,
      mine && mine.state !== "acked" && !isExit(mine.state) ? button("Acknowledge", "ack") : null,
      isGate ? h("a.button", { href: "#/decisions" }, "Decide") : null,
      h("a.button", { href: opened({ thread: message.thread }), "aria-keyshortcuts": "t" }, "Thread"),
      isMine && isOpen ? button("Withdraw", "withdraw") : null,
    );
    if (!this.#isReplying) return acts;
    return [
      h(
        "form.reply",
        { "data-key": "reply" },
        h("label", { for: "reply-body" }, "Reply to ", bdi(message.sender), " as ", bdi(store.me.address)),
        h("textarea", { id: "reply-body", name: "body", rows: 5, required: true }),
        h("div.acts", null, h("button.main", { type: "submit", title: "Ctrl Enter" }, "Send reply"), button("Discard", "discard")),
      ),
      acts,
    ];
  }

  /** @param {Delivery} delivery */
  #delivery(delivery) {
    const agent = this.desk.store.agent(delivery.recipient_id);
    const found = standing(delivery, agent);
    const top = height(delivery);
    const isLost = isExit(delivery.state);
    const steps = RUNGS.filter((_, n) => !isLost || n <= top).map((rung, n) =>
      h(`li${n <= top ? ".on" : ""}`, null, h("b", null, rung), h("span", null, n <= top && reachedAt(delivery, rung) ? clock(/** @type {string} */ (reachedAt(delivery, rung))) : n > top ? h("span.hidden", null, "not yet") : "")),
    );
    if (isLost) steps.push(h("li.exit", null, h("b", null, delivery.state), h("span", null, delivery.ended_at ? clock(delivery.ended_at) : "")));
    const took = between(delivery.stored_at, delivery.seen_at);
    return h(
      "div.delivery",
      { "data-key": delivery.recipient_id },
      h("h3", null, h("a", { href: opened({ agent: agent?.address ?? delivery.recipient }) }, bdi(delivery.recipient)), h(`span.word.${found.tone}`, null, found.word)),
      h("ol.steps", { role: "list" }, steps),
      h("p.why", null, isLost ? `Because: ${plain(delivery.reason || delivery.state)}.`.replace("..", ".") : found.tone === "fine" ? [delivery.evidence ? `Evidence: ${EVIDENCE[delivery.evidence] ?? delivery.evidence}` : "", took ? `${delivery.evidence ? ", " : "Seen "}${took} after it was stored` : "", "."] : found.detail),
      delivery.shown_before ? h("p.why", null, "An earlier attempt may have shown it already.") : null,
      this.#attempts(delivery),
    );
  }

  /** @param {Delivery} delivery */
  #attempts(delivery) {
    if (!delivery.history?.length) return null;
    return h(
      "ol.attempts",
      { role: "list", "aria-label": "Attempts" },
      delivery.history.map((one) =>
        h("li", null, h("span.n", null, `${one.n}`), moment(one.claimed_at, true), ` by ${routeName(one.route)}`, h("span.dim", null, ` · process ${one.claimer.split(".")[0]}`), ` · ${OUTCOME[one.outcome] ?? one.outcome}`, one.evidence ? ` (${one.evidence.replaceAll("_", " ")})` : "", one.ended_at ? h("span.dim", null, ` after ${between(one.claimed_at, one.ended_at)}`) : null),
      ),
    );
  }

  #history() {
    return h(
      "details.history",
      { "data-key": "history" },
      h("summary", null, `Timeline, ${many(this.#timeline.length, "event")}`),
      h(
        "ol",
        { role: "list" },
        this.#timeline.map((one) => h("li", null, moment(one.timestamp, true), h("b", null, HAPPENED[one.type] ?? one.type), h("span.dim", null, facts(one, this.desk)))),
      ),
    );
  }

  /** The form opens; if the message is not there yet, when it is. */
  reply() {
    this.#isReplying = true;
    this.#isAwaited = true;
    this.update();
  }

  /** The form closes, and an address that is kept opens it no more. */
  #shut() {
    this.#isReplying = false;
    if (here().params.reply) go(opened({ message: this.#ref }), { replace: true });
  }

  #focusReply() {
    const field = this.#isAwaited ? this.element.querySelector("textarea") : null;
    if (!field) return;
    this.#isAwaited = false;
    field.focus();
  }

  /** @param {MouseEvent} event */
  async #clicked(event) {
    const act = event.target instanceof Element ? event.target.closest("[data-act]")?.getAttribute("data-act") : null;
    if (act === "reply") this.reply();
    if (act === "whole") this.#body.whole();
    if (act === "discard") this.#shut();
    if (act === "ack" || act === "withdraw") await this.#do(act);
    if (act) this.update();
  }

  /** @param {"ack"|"withdraw"} what */
  async #do(what) {
    if (what === "withdraw" && !(await this.desk.sure("Withdraw this message?", "Who has not seen it yet will not get it.", "Withdraw"))) return;
    try {
      await post(`/messages/${segment(this.#ref)}/${what}`);
      this.desk.say(what === "ack" ? "Acknowledged." : "Withdrawn.");
      await this.#load();
    } catch (error) {
      this.#fault = /** @type {Error} */ (error);
    }
  }

  /** @param {Event} event */
  async #reply(event) {
    const field = this.element.querySelector("textarea");
    if (!field || !this.#message) return;
    event.preventDefault();
    if (!field.value.trim()) return;
    try {
      const sent = await post(`/messages/${segment(this.#message.id)}/reply`, { body: field.value });
      this.#shut();
      this.#fault = null;
      this.desk.say(sent.note || "Reply stored.");
    } catch (error) {
      this.#fault = /** @type {Error} */ (error); // what was written stays in its field
    }
    this.update();
    if (!this.#isReplying) this.element.querySelector("h2")?.focus();
  }

  /** @param {string} key */
  key(key) {
    const message = this.#message ?? this.desk.store.message(this.#ref);
    if (key === "r" && this.desk.store.may("mail")) this.reply();
    else if (key === "t" && message) location.hash = opened({ thread: message.thread });
    else return false;
    return true;
  }

  close() {
    this.#abort.abort();
  }
}

/** What an event says beside its name. @param {Happening} one @param {Desk} desk */
function facts(one, desk) {
  const who = one.agent_id ?? one.human_id;
  const name = who && desk.store.agent(who)?.name;
  const { n, route, evidence, outcome, reason, option, note } = one.payload ?? {};
  const said = [
    name && ` ${one.type === "message.sent" ? "by" : one.type === "delivery.offered" ? "to" : "by"} ${plain(name)}`,
    route && `${n ? `attempt ${n} ` : ""}by ${routeName(route)}`,
    evidence && String(evidence).replaceAll("_", " "),
    outcome && outcome !== evidence && String(outcome),
    reason && reason !== outcome && plain(String(reason)),
    option && plain(String(option)),
    note && plain(String(note)),
  ];
  return said.filter(Boolean).join(", ");
}
