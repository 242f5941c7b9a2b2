/** What others wrote, made fit to be looked at. It is data: nothing in it may hide, reorder or reach out. */

const CONTROL = /[\u0000-\u0008\u000b-\u001f\u007f]/g;
// Marks that turn or hide what stands around them, and line ends that only some programs see.
const HIDDEN = /[\u0080-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb]|\u{e0001}|[\u{e0020}-\u{e007f}]/gu;
const STACK = /(\p{M}{4})\p{M}+/gu;
const CODE = /(^|\n)(```|[ \t]{2,}\S|\s*[{}[\]|│╭╰┌└]|diff --git|@@ )|\u2500/;

/**
 * With control characters as their pictures and hidden ones by their numbers.
 * @param {string} text
 */
export function plain(text) {
  return text
    .replace(/\r\n/g, "\n")
    .replace(CONTROL, (c) => (c === "\u007f" ? "\u2421" : String.fromCharCode(0x2400 + c.charCodeAt(0))))
    .replace(HIDDEN, (c) => `‹${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}›`)
    .replace(STACK, "$1");
}

/**
 * The beginning on one line.
 * @param {string|null|undefined} text
 * @param {number} [most] characters
 */
export function gist(text, most = 220) {
  const start = (text ?? "").slice(0, most * 2).replace(/\s+/g, " ").trim();
  return plain(start.length > most ? `${start.slice(0, most)}…` : start);
}

/**
 * Whether its lines mean something by where they begin.
 * @param {string} text
 */
export const isCode = (text) => CODE.test(text.slice(0, 20_000));

/** What the room says, as a sentence. @param {string} words */
export const sentence = (words) => words && `${words.slice(0, 1).toUpperCase()}${words.slice(1)}${/[.!?…]$/.test(words) ? "" : "."}`;

/**
 * @param {number} count
 * @param {string} noun
 * @param {string} [nouns]
 */
export const many = (count, noun, nouns = `${noun}s`) =>
  `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
