/** What this browser remembers of its reader's wishes. */

/** @param {string} name @param {string} fallback */
export function recall(name, fallback) {
  try {
    return localStorage.getItem(`postroom.${name}`) ?? fallback;
  } catch {
    return fallback; // a browser may keep nothing
  }
}

/** @param {string} name @param {string} value */
export function keep(name, value) {
  try {
    localStorage.setItem(`postroom.${name}`, value);
  } catch {
    return; // then it holds until the page is left
  }
}
