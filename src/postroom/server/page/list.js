/** A list of any length of which only what is on the screen exists. All rows have one height, set in the style. */

import { fill, h } from "./element.js";

const SPARE = 8; // rows made beyond each edge
const POINTED = 1500; // milliseconds that a row stays under a pointer that came to it

/** @template {{id: string}} Row */
export class VirtualList {
  /** @type {readonly Row[]} */
  #rows = [];
  #height = 0;
  #pointed = 0;
  /** The first row on the screen: which it was, where in the list, and how far down that began. */
  #anchor = { id: "", n: 0, above: 0 };
  #isWhole = false;
  /** @type {string|null} the row that has the focus, or would get it */
  current = null;

  /**
   * @param {HTMLElement} scroller
   * @param {(row: Row, isCurrent: boolean) => HTMLElement} draw a list item with one link in it
   * @param {() => void} more what lies below the last row is wanted
   */
  constructor(scroller, draw, more) {
    this.scroller = scroller;
    this.draw = draw;
    this.more = more;
    this.space = h("div.space", { "data-own": true });
    this.list = h("ol.rows", { role: "list" });
    this.space.append(this.list);
    scroller.addEventListener("scroll", () => this.render(), { passive: true });
    this.#watch = new ResizeObserver(() => this.#measure());
    this.#watch.observe(scroller);
    this.list.addEventListener("pointermove", () => (this.#pointed = Date.now()), { passive: true });
    this.list.addEventListener("focusin", (event) => this.#focused(event));
  }

  #watch;

  close() {
    this.#watch.disconnect();
  }

  /** Other rows will be shown, from the first one on. */
  reset() {
    this.#anchor = { id: "", n: 0, above: 0 };
    this.current = null;
    this.scroller.scrollTop = 0;
  }

  /** What there is now. The rows that are looked at stay where they are. @param {readonly Row[]} rows @param {boolean} isWhole */
  show(rows, isWhole) {
    this.#isWhole = isWhole;
    this.#rows = rows;
    const moved = this.#isShown && !this.isAtTop ? this.#moved() : 0;
    if (moved) {
      this.space.style.height = `${rows.length * this.#height}px`; // else there may be nothing to scroll to
      this.scroller.scrollTop += moved;
    }
    this.render();
  }

  /** How much further down is what was the first row on the screen, by what came in front of it. */
  #moved() {
    const { id, n, above } = this.#anchor;
    if (!id) return 0;
    const grown = this.scroller.scrollTop < above ? 0 : this.#above() - above; // what is above and in sight may push
    return (this.#near(id, n) - n) * this.#height + grown;
  }

  /** Where nothing is laid out, nothing can be said of places. */
  get #isShown() {
    return this.scroller.clientHeight > 0;
  }

  /** Where a row is now, looked for around where it was. @param {string} id @param {number} from */
  #near(id, from) {
    for (let n = from; n < Math.min(this.#rows.length, from + 500); n += 1) if (this.#rows[n]?.id === id) return n;
    return from;
  }

  /** New rows push the others down only then: not while somebody is about to click on one. */
  get isAtTop() {
    return this.scroller.scrollTop < 4 && Date.now() - this.#pointed > POINTED;
  }

  #first() {
    return this.#height ? Math.max(0, Math.floor((this.scroller.scrollTop - this.#above()) / this.#height)) : 0;
  }

  /** What stands above the list inside of the scroller. */
  #above() {
    return this.space.offsetTop;
  }

  #measure() {
    this.#height = Number.parseFloat(getComputedStyle(this.scroller).getPropertyValue("--row")) || 64;
    this.show(this.#rows, this.#isWhole);
  }

  render() {
    if (!this.#height) return this.#measure();
    const count = this.#rows.length;
    const first = Math.min(this.#first(), Math.max(0, count - 1));
    if (this.#isShown) this.#anchor = { id: this.#rows[first]?.id ?? "", n: first, above: this.#above() };
    const start = Math.max(0, first - SPARE);
    const seen = Math.ceil(this.scroller.clientHeight / this.#height) + SPARE * 2;
    const end = Math.min(count, start + seen);
    this.space.style.height = `${count * this.#height}px`;
    this.list.style.transform = `translateY(${start * this.#height}px)`;
    const items = [];
    const isCurrentHere = this.#rows.slice(start, end).some((row) => row.id === this.current);
    for (let n = start; n < end; n += 1) {
      const row = /** @type {Row} */ (this.#rows[n]);
      const item = this.draw(row, isCurrentHere ? row.id === this.current : n === start);
      item.setAttribute("data-key", row.id);
      item.setAttribute("aria-posinset", String(n + 1));
      item.setAttribute("aria-setsize", this.#isWhole ? String(count) : "-1");
      items.push(item);
    }
    fill(this.list, items);
    if (!this.#isWhole && end > count - 60) this.more();
    return undefined;
  }

  /** @param {FocusEvent} event */
  #focused(event) {
    const item = event.target instanceof Element ? event.target.closest("[data-key]") : null;
    const key = item?.getAttribute("data-key");
    if (key && key !== this.current) {
      this.current = key;
      this.render();
    }
  }

  /** The focus goes to another row. @param {number} by how many further down; negative: up */
  move(by) {
    const was = this.current === null ? -1 : this.#rows.findIndex((row) => row.id === this.current);
    const to = was < 0 ? 0 : Math.max(0, Math.min(this.#rows.length - 1, was + by));
    const row = this.#rows[to];
    if (!row) return;
    this.current = row.id;
    const top = to * this.#height + this.#above();
    const { scrollTop, clientHeight } = this.scroller;
    if (top < scrollTop) this.scroller.scrollTop = to === 0 ? 0 : top;
    else if (top + this.#height > scrollTop + clientHeight) this.scroller.scrollTop = top + this.#height - clientHeight;
    this.render();
    this.focus();
  }

  /** The focus goes to the current row, if that is on the screen. */
  focus() {
    const item = [...this.list.children].find((one) => one.getAttribute("data-key") === this.current);
    const link = (item ?? this.list.firstElementChild)?.querySelector("a");
    link?.focus({ preventScroll: true });
    return Boolean(link);
  }
}
