/** Moments and lengths of time, as they are read at a glance. */

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const SECONDS = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const LONG = new Intl.DateTimeFormat("en-GB", { dateStyle: "full", timeStyle: "medium" });
const DAY_NAME = new Intl.DateTimeFormat("en-GB", { weekday: "long", day: "numeric", month: "long" });

/** @param {string} iso */
const at = (iso) => new Date(iso);

/** @param {Date} date */
const isToday = (date) => date.toDateString() === new Date().toDateString();

/**
 * `14:05`, or `3 Nov` on another day.
 * @param {string} iso
 */
export const brief = (iso) => (isToday(at(iso)) ? CLOCK : DAY).format(at(iso));

/**
 * `14:05:09`, with the day if that is another one.
 * @param {string} iso
 */
export function clock(iso) {
  const date = at(iso);
  return isToday(date) ? SECONDS.format(date) : `${DAY.format(date)} ${CLOCK.format(date)}`;
}

/** @param {string} iso */
export const full = (iso) => LONG.format(at(iso));

/** @param {string} iso */
export const day = (iso) => DAY_NAME.format(at(iso));

/** @param {string} iso */
export const hour = (iso) => CLOCK.format(at(iso));

/**
 * A length: `300 ms`, `12 s`, `5 min`, `3 h`, `2 d`.
 * @param {number} ms
 */
export function span(ms) {
  const whole = Math.max(0, ms);
  if (whole < 1000) return `${Math.round(whole)} ms`;
  const seconds = whole / 1000;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129_600) return `${Math.round(seconds / 3600)} h`;
  return `${Math.round(seconds / 86_400)} d`;
}

/**
 * How long ago, in whole steps so that it does not flicker.
 * @param {string} iso
 */
export function ago(iso) {
  const ms = Date.now() - at(iso).getTime();
  return ms < 10_000 ? "just now" : `${span(ms)} ago`;
}

/**
 * How long still.
 * @param {string} iso
 */
export function left(iso) {
  const ms = at(iso).getTime() - Date.now();
  return ms <= 0 ? "over" : `${span(ms)} left`;
}

/**
 * From one moment to another.
 * @param {string|undefined} from
 * @param {string|undefined|null} to
 */
export const between = (from, to) => (from && to ? span(at(to).getTime() - at(from).getTime()) : "");
