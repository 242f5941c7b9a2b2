/** What stands beside every view: where to go, the projects and topics, and everybody with what they do. */

import { fill, h } from "./element.js";
import { button } from "./piece.js";
import { inbox, sorted } from "./presence.js";
import { here, href, turned } from "./router.js";
import { many, plain } from "./text.js";

/** @typedef {import("./store.js").Store} Store */

/** @type {[string, string, string, string][]} view, name, short name, key after g */
export const VIEWS = [
  ["mail", "Mail", "Mail", "m"],
  ["agents", "Agents", "Agents", "a"],
  ["decisions", "Decisions", "Decide", "d"],
  ["dead", "Dead letters", "Dead", "x"],
  ["metrics", "Metrics", "Metrics", "s"],
  ["graph", "Who talks to whom", "Graph", "w"],
];
const THEMES = { auto: "Theme: system", light: "Theme: light", dark: "Theme: dark" };
const MOST = 60;

/** @param {string} id */
const part = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** @param {Store} store @param {keyof typeof THEMES} theme */
export function drawSide(store, theme) {
  const { view, params } = here();
  const found = sorted([...store.agents.values()].filter((one) => !one.left_at));
  /** @type {Record<string, number>} */
  const counts = { mail: store.asks.length, decisions: store.mine.length, dead: store.dead.length, agents: found.filter((one) => one.doing.trouble).length };
  fill(
    part("views"),
    h(
      "ul",
      { role: "list" },
      VIEWS.map(([id, name, brief]) =>
        h("li", null, h("a", { href: href(id, id === "mail" || id === "agents" ? { project: params.project } : {}), "aria-current": id === view ? "page" : null }, h("span.long", null, name), h("span.short", null, brief), counts[id] ? h("span.count", { title: id === "agents" ? "need somebody" : id === "mail" ? "ask you" : "wait" }, counts[id]) : null)),
      ),
      h("li.more", null, button("More", "help", { "aria-haspopup": "dialog" })),
    ),
  );
  fill(part("scopes"), store.projects.length ? [h("h2.small", null, "Projects"), h("ul", { role: "list" }, scopes(store))] : null);
  const shown = found.filter((one) => !params.project || one.agent.project === params.project || one.agent.kind === "human").slice(0, MOST);
  fill(
    part("roster"),
    shown.length ? h("h2.small", null, "Here") : null,
    h(
      "ul",
      { role: "list" },
      shown.map(({ agent, doing }) =>
        h(
          "li",
          { "data-key": agent.id },
          h("a", { href: turned({ agent: agent.address, message: null, thread: null }), "aria-current": params.agent === agent.address ? "true" : null, title: [doing.word, doing.trouble || doing.evidence].filter(Boolean).join(": ") }, h("i.dot", { "data-state": doing.state, "aria-hidden": "true" }), h("bdi", null, plain(params.project ? agent.name : store.called(agent.address, agent.project))), h("span.hidden", null, `, ${doing.word}`), inbox(agent) ? h("span.count", { title: `${many(inbox(agent), "message")} waiting` }, inbox(agent)) : null),
        ),
      ),
      found.length > shown.length && !params.project ? h("li", { "data-key": "more" }, h("a", { href: href("agents") }, `and ${found.length - shown.length} more`)) : null,
    ),
  );
  const who = () => (store.me.address ? h("p.dim", null, "as ", h("bdi", null, store.me.address)) : null);
  const light = () => button(THEMES[theme], "theme", { class: "plain", title: "Change the theme" });
  fill(part("about"), who(), light(), button("Keys", "help", { class: "plain", "aria-keyshortcuts": "?" }));
  const more = document.querySelector("#help .about"); // where a narrow screen has no room for it
  if (more instanceof HTMLElement) fill(more, who(), light());
}

/** @param {Store} store */
function scopes(store) {
  const { view, params } = here();
  /** @param {string} name @param {Record<string, string>} to @param {boolean} isHere @param {string} [kind] */
  const link = (name, to, isHere, kind = "") => h(`li${kind}`, { "data-key": name + JSON.stringify(to) }, h("a", { href: href("mail", to), "aria-current": isHere ? "true" : null }, plain(name)));
  return [
    link("All", {}, view === "mail" && !params.project && !params.topic),
    store.projects.map((project) => [
      link(project, { project }, params.project === project && !params.topic),
      store.topics.filter((one) => one.project === project).map((one) => link(`#${one.name}`, { project, topic: one.name }, params.topic === one.name && params.project === project, ".topic")),
    ]),
  ];
}
