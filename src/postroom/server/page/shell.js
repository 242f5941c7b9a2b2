/** Commands for a terminal: each as it finds this room, though another one is the usual. */

let home = "";

/** @param {string} where the room is, if commands must be told; else empty */
export function standIn(where) {
  home = where;
}

/** A text as one word of a shell. @param {string} text */
const word = (text) => (/^[\w@%+=:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** A command of ours, with the room that it is about: `postroom.home.at_home` has the same rule. @param {string} text */
export function atHome(text) {
  if (!home || !text.startsWith("postroom ") || text.startsWith("postroom demo")) return text;
  return `postroom --home ${word(home)} ${text.slice("postroom ".length)}`;
}
