/**
 * What every view is given, and what it must be. Types only.
 *
 * @typedef {object} Desk
 * @property {import("./store.js").Store} store
 * @property {(about?: import("./compose.js").Draft) => void} write opens the letter form
 * @property {(agent: import("./wire.js").Agent, kind?: string) => void} interrupt asks before anything is done
 * @property {(agent: import("./wire.js").Agent) => Promise<void>} resume
 * @property {(text: string, tone?: "fine"|"trouble") => void} say a line at the foot of the page, read out
 * @property {(question: string, detail: string, yes: string) => Promise<boolean>} sure
 *
 * @typedef {object} View
 * @property {string} title
 * @property {HTMLElement} element
 * @property {(params: Record<string, string>) => void} turn the address has changed
 * @property {() => void} update something in the store has
 * @property {(happening: import("./wire.js").Happening) => void} [happened]
 * @property {() => void} [caughtUp] the line was down, and is back
 * @property {(key: string) => boolean} [key] a key was pressed: whether it was meant for this view
 * @property {() => void} close
 */
export {};
