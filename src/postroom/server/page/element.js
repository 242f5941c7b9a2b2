/** Elements, made and brought up to date. Whatever is said goes in as text; nothing here parses markup. */

/** @typedef {Node|string|number|null|undefined|false|readonly unknown[]} Child what is in an array is a Child again */
/** @typedef {Record<string, string|number|boolean|null|undefined>} Attributes */

const SVG = "http://www.w3.org/2000/svg";

/**
 * @param {string} name tag, with classes after dots: `p.dim`
 * @param {Attributes|null} [attributes] true: present; false, null and undefined: absent
 * @param {...Child} children
 * @returns {HTMLElement}
 */
export function h(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElement(/** @type {string} */ (tag));
  return /** @type {HTMLElement} */ (finish(element, classes, attributes, children));
}

/**
 * @param {string} name
 * @param {Attributes|null} [attributes]
 * @param {...Child} children
 * @returns {SVGElement}
 */
export function s(name, attributes, ...children) {
  const [tag, ...classes] = name.split(".");
  const element = document.createElementNS(SVG, /** @type {string} */ (tag));
  return /** @type {SVGElement} */ (finish(element, classes, attributes, children));
}

/**
 * @param {Element} element
 * @param {string[]} classes
 * @param {Attributes|null|undefined} attributes
 * @param {Child[]} children
 */
function finish(element, classes, attributes, children) {
  if (classes.length) element.setAttribute("class", classes.join(" "));
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === false || value === null || value === undefined) continue;
    element.setAttribute(key, value === true ? "" : String(value));
  }
  element.append(...nodes(children));
  return element;
}

/**
 * @param {readonly Child[]} children
 * @returns {Node[]}
 */
function nodes(children) {
  /** @type {Node[]} */
  const found = [];
  for (const child of children) {
    if (Array.isArray(child)) found.push(...nodes(/** @type {Child[]} */ (child)));
    else if (child instanceof Node) found.push(child);
    else if (child !== null && child !== undefined && child !== false && child !== "") {
      found.push(document.createTextNode(String(child)));
    }
  }
  return found;
}

/**
 * Bring what is inside an element up to date. What is still the same element stays it: it keeps its focus, what
 * was typed into it, and goes over to its new look by a transition. Children with `data-key` are known by that.
 *
 * @param {Element} parent
 * @param {...Child} children
 */
export function fill(parent, ...children) {
  patchChildren(parent, nodes(children));
}

/** @param {Node} node */
const keyOf = (node) => (node instanceof Element ? node.getAttribute("data-key") : null);

/**
 * @param {Node} have
 * @param {Node} want
 */
const isSame = (have, want) => have.nodeName === want.nodeName && keyOf(have) === keyOf(want);

/**
 * @param {Element} parent
 * @param {Node[]} wanted
 */
function patchChildren(parent, wanted) {
  const keys = new Set(wanted.map(keyOf));
  /** @type {Map<string, Element>} */
  const kept = new Map();
  for (const child of [...parent.children]) {
    const key = keyOf(child);
    if (key === null) continue;
    if (keys.has(key)) kept.set(key, child);
    else child.remove(); // first, so that what stays need not be moved: moving takes the focus away
  }
  /** @type {Node|null} */
  let at = parent.firstChild;
  for (const want of wanted) {
    const key = keyOf(want);
    const have = key === null ? at : (kept.get(key) ?? null);
    if (!have || !isSame(have, want)) {
      parent.insertBefore(want, at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else parent.insertBefore(have, at);
    patch(have, want);
  }
  while (at) {
    const next = at.nextSibling;
    at.parentNode?.removeChild(at);
    at = next;
  }
}

/**
 * @param {Node} have
 * @param {Node} want
 */
function patch(have, want) {
  if (!(have instanceof Element) || !(want instanceof Element)) {
    if (have.nodeValue !== want.nodeValue) have.nodeValue = want.nodeValue;
    return;
  }
  const isOpened = have instanceof HTMLDetailsElement || have instanceof HTMLDialogElement;
  for (const { name } of [...have.attributes]) {
    if (!want.hasAttribute(name) && !(isOpened && name === "open") && name !== "style") have.removeAttribute(name);
  }
  for (const { name, value } of want.attributes) {
    if (have.getAttribute(name) !== value) have.setAttribute(name, value);
  }
  if (!want.hasAttribute("data-own")) patchChildren(have, [...want.childNodes]);
}
