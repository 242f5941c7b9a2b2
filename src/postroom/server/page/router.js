/** Where we are: `#/mail?project=shop&message=…`. A view, its filters, and what is open beside it. */

/** @typedef {Record<string, string>} Params */
/** @typedef {{view: string, params: Params}} Place */

/** What can be open beside a view; only one at a time. */
export const OPEN = /** @type {const} */ (["message", "thread", "agent"]);

/** @returns {Place} */
export function here() {
  const [path = "", search = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  return { view: path || "mail", params: Object.fromEntries(new URLSearchParams(search)) };
}

/**
 * @param {string} view
 * @param {Record<string, string|null|undefined>} [params]
 */
export function href(view, params = {}) {
  const given = Object.entries(params).filter(([, value]) => value);
  const search = new URLSearchParams(/** @type {[string, string][]} */ (given)).toString().replaceAll("%2F", "/").replaceAll("%3A", ":");
  return `#/${view}${search ? `?${search}` : ""}`;
}

/** The same view with other parameters. @param {Record<string, string|null|undefined>} params */
export function turned(params) {
  const place = here();
  return href(place.view, { ...place.params, ...params });
}

/** The same view with something open beside it, or nothing. @param {Record<string, string>} [what] */
export function opened(what = {}) {
  return turned({ message: null, thread: null, agent: null, reply: null, ...what });
}

/** @param {string} to @param {{replace?: boolean}} [how] */
export function go(to, how = {}) {
  if (to === location.hash) return;
  if (how.replace) {
    history.replaceState(null, "", to);
    dispatchEvent(new HashChangeEvent("hashchange"));
  } else {
    location.hash = to;
  }
}
