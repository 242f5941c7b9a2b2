/** The server's REST interface. Whatever goes wrong is a `Fault` that says what to do next. */

import { plain } from "./text.js";

const BASE = "/api/v1";
const PATIENCE = 20_000; // milliseconds; what waits for a bridge takes a while

/** Something the server refused, or that it could not be asked. */
export class Fault extends Error {
  /**
   * @param {string} code
   * @param {string} message
   * @param {string} hint
   * @param {number} status 0: there was no answer
   */
  constructor(code, message, hint = "", status = 0) {
    super(message);
    this.code = code;
    this.hint = hint;
    this.status = status;
  }
}

/** @typedef {Record<string, string|number|boolean|null|undefined>} Query */

/**
 * @param {string} path
 * @param {Query} [query]
 */
export function address(path, query = {}) {
  const given = Object.entries(query).filter(([, value]) => value !== undefined && value !== null && value !== "");
  const search = new URLSearchParams(given.map(([key, value]) => [key, String(value)])).toString();
  return `${BASE}${path}${search ? `?${search}` : ""}`;
}

/**
 * @param {string} method
 * @param {string} url
 * @param {unknown} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<any>}
 */
async function call(method, url, body, signal) {
  const patience = AbortSignal.timeout(PATIENCE);
  /** @type {RequestInit} */
  const request = { method, signal: signal ? AbortSignal.any([signal, patience]) : patience, headers: { Accept: "application/json" } };
  if (body !== undefined) {
    request.headers = { ...request.headers, "Content-Type": "application/json" };
    request.body = JSON.stringify(body);
  }
  let response;
  try {
    response = await fetch(url, request);
  } catch (error) {
    if (signal?.aborted) throw error;
    throw new Fault("unreachable", "The daemon does not answer.", "Start it: postroom up");
  }
  const text = await response.text();
  const document = text ? parse(text) : {};
  if (!response.ok) {
    const said = typeof document.message === "string" ? document.message : `The daemon answered ${response.status}.`;
    throw new Fault(document.error ?? "error", said, document.hint ?? "", response.status);
  }
  return document;
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}

/** @param {string} path @param {Query} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => call("GET", address(path, query), undefined, signal);

/** @param {string} path @param {unknown} [body] @param {Query} [query] */
export const post = (path, body = {}, query) => call("POST", address(path, query), body);

/** @param {string} path @param {Query} [query] */
export const remove = (path, query) => call("DELETE", address(path, query));

/** One segment of a path; an agent's address has a slash in it. @param {string} text */
export const segment = (text) => encodeURIComponent(text);

/** What an agent's terminal shows. @param {string} agent its address */
export const screen = async (agent) => plain(String((await get(`/agents/${segment(agent)}/screen`)).text)) || "(empty)";
