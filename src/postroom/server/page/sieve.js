/** What is searched for, as people type it: `from:backend state:dead some words`. */

/** @typedef {{project?: string, topic?: string, with?: string, sender?: string, to?: string, type?: string, state?: string, q?: string}} Filter */

const FIELDS = new Set(["from", "to", "type", "state", "topic", "project", "with"]);
const WORD = /[\p{L}\p{N}\p{M}]+/gu;

/** `postroom.top.view.sieve` has the same rule. @param {string} text @returns {Filter} */
export function sieve(text) {
  /** @type {Record<string, string>} */
  const wanted = {};
  const words = [];
  for (const part of text.split(/\s+/).filter(Boolean)) {
    const [, name = "", value = ""] = /^(\w+):(.+)$/.exec(part) ?? [];
    if (FIELDS.has(name)) wanted[name === "from" ? "sender" : name] = value;
    else words.push(part);
  }
  return words.length ? { ...wanted, q: words.join(" ") } : wanted;
}

/** As the room compares words. @param {string} word */
const fold = (word) => word.toLowerCase().normalize("NFD").replace(/\p{M}/gu, "");

/** The words of a text that a query asks for; what it excludes is in none. @param {string} query @param {string} text @returns {[number, number][]} */
export function found(query, text) {
  const wanted = (query.replace(/(^|\s)(AND|OR|NOT)(?=\s|$)/g, " ").match(/[\p{L}\p{N}\p{M}]+\*?/gu) ?? []).map(fold);
  const isWanted = (/** @type {string} */ word) => wanted.some((one) => (one.endsWith("*") ? word.startsWith(one.slice(0, -1)) : word === one));
  return [...text.matchAll(WORD)].filter(([word]) => isWanted(fold(word))).map(({ 0: word, index }) => [index, index + word.length]);
}
