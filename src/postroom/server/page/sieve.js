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

/** What something may be found by: words that stand one after the other, as `postroom.model.query.parse` reads them. @param {string} query */
function terms(query) {
  const read = [];
  let isExcluded = false;
  for (const [, minus, phrase, word = ""] of query.matchAll(/(-?)(?:"([^"]*)"?|([^\s"]+))/g)) {
    if (!minus && /^(AND|OR|\||NOT)$/.test(word)) {
      isExcluded = word === "NOT";
      continue;
    }
    const words = ((phrase || word).match(WORD) ?? []).map(fold);
    if (!words.length) continue;
    if (!minus && !isExcluded) read.push({ words, isBeginning: word.endsWith("*") });
    isExcluded = false;
  }
  return read;
}

/** Where a text has what a query asks for, as stretches of it. @param {string} query @param {string} text @returns {[number, number][]} */
export function found(query, text) {
  const place = [...text.matchAll(WORD)].map(({ 0: word, index }) => ({ word: fold(word), from: index, to: index + word.length }));
  /** @type {[number, number][]} */
  const stretches = [];
  for (const { words, isBeginning } of terms(query)) {
    const last = words.length - 1;
    for (const [at, { from }] of place.slice(0, place.length - last).entries()) {
      const isHere = words.every((word, n) => (n === last && isBeginning ? place[at + n]?.word.startsWith(word) : place[at + n]?.word === word));
      if (isHere) stretches.push([from, place[at + last]?.to ?? from]);
    }
  }
  /** @type {[number, number][]} */
  const joined = [];
  for (const [from, to] of stretches.sort(([a, b], [c, d]) => a - c || b - d)) {
    const before = joined.at(-1);
    if (before && from < before[1]) before[1] = Math.max(before[1], to);
    else joined.push([from, to]);
  }
  return joined;
}
