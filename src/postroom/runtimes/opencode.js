// Postroom's plugin for opencode: shows an agent its mail, and wakes it when mail comes. Written by
// `postroom setup opencode`; edits are lost at the next one. Whatever fails in here is left out: the agent
// must not notice. While nothing is due, no process is started.

import { spawn } from "node:child_process"
import fs from "node:fs"

const HOOK = "%HOOK%"
const RUN = "%RUN%"
const LIFE = "%LIFE%"
const OUTBOX = "%OUTBOX%"
const NUDGE = "%NUDGE%"
const PATIENCE = 10_000 // milliseconds for one hook

const HEADLESS = process.argv.slice(1, 4).includes("run") // ends with its turn, and cannot be woken
const TERMINAL = /\/tui\/worker\.\w+$/.test(process.argv[1])
const NOWHERE = "localhost:4096" // where a server that does not listen says that it does

export const Postroom = async (opencode) => {
  const { client, directory } = opencode
  const sessions = new Map()
  let shown // the conversation in the terminal, where it can only be one

  // Nothing can be due for this agent now.
  const isQuiet = (key) => {
    try {
      return fs.statSync(`${RUN}/quiet/s/${key}`).mtimeMs > Date.now()
    } catch {
      return false
    }
  }

  // What a sandbox kept out of the room waits for us, and nobody could withdraw the promise of quiet for it.
  const hasLetters = (key) =>
    fs.existsSync(`${OUTBOX}/${key}`) || fs.existsSync(`${directory}/.postroom/outbox`)

  const sign = (session, event) => {
    try {
      fs.writeFileSync(`${LIFE}/${session.root}`, `${event}\n`, { mode: 0o600 })
    } catch {}
  }

  // What the hook says at an event: {text, watch}, or {} when that takes too long or fails.
  const ask = (session, event, facts) =>
    new Promise((resolve) => {
      try {
        const child = spawn(HOOK, ["opencode", event, session.root], {
          stdio: ["pipe", "pipe", "ignore"],
          cwd: directory,
        })
        const timer = setTimeout(() => child.kill("SIGKILL"), PATIENCE)
        let said = ""
        child.stdout.setEncoding("utf8")
        child.stdout.on("data", (part) => (said += part))
        child.on("error", () => resolve({}))
        child.on("close", () => {
          clearTimeout(timer)
          try {
            resolve(said ? JSON.parse(said) : {})
          } catch {
            resolve({})
          }
        })
        child.stdin.on("error", () => {})
        child.stdin.end(
          JSON.stringify({
            session: session.root,
            child: session.id === session.root ? "" : session.id,
            child_type: session.kind,
            cwd: directory,
            ...facts,
          }),
        )
      } catch {
        resolve({})
      }
    })

  // One thing at a time in each session, in the order of its events.
  const next = (session, work) => {
    const done = session.last.then(work).catch(() => {})
    session.last = done
    return done
  }

  // Mail has kept turns from ending, and a person's prompt ends the count of that.
  const endsCount = (key, event) => event === "chat.message" && fs.existsSync(`${RUN}/stops/${key}`)

  const asked = async (session, event, facts) => {
    const root = session.root
    if (isQuiet(root) && !hasLetters(root) && !endsCount(root, event)) return ""
    const { text } = await ask(session, event, facts)
    if (text) session.handed = Date.now()
    return text || ""
  }

  const begin = async (session, source) => {
    const event = session.id === session.root ? "session.created" : "session.child"
    const { text, watch } = await ask(session, event, { source })
    session.greeting = text || ""
    session.watcher?.close()
    session.watcher = undefined
    if (watch && !HEADLESS) {
      session.watcher = fs.watch(watch, { persistent: false }, () => ring(session))
      session.watcher.on("error", () => {})
    }
  }

  // A terminal whose server nobody else can reach shows one conversation at a time: the one before is over,
  // unless it is still at work. Settles when that is noted.
  const show = (session) => {
    if (!TERMINAL || opencode.serverUrl?.host !== NOWHERE || session.id !== session.root) return
    const left = shown
    shown = session
    if (left && left !== session) return next(left, () => left.busy || leave(left))
  }

  const leave = async (session) => {
    sessions.delete(session.id)
    if (session === shown) shown = undefined
    session.watcher?.close()
    if (session.id === session.root) await ask(session, "session.deleted", {})
  }

  const known = (id) => sessions.get(id) ?? meet({ id }, "resume")

  const meet = (info, source) => {
    const parent = info.parentID ? known(info.parentID) : undefined
    const session = {
      id: info.id,
      root: parent ? parent.root : info.id,
      kind: /\(@(\S+) subagent\)/.exec(info.title ?? "")?.[1] ?? "",
      last: Promise.resolve(),
      greeting: "", // for the next words that reach the conversation
      handed: 0, // when mail was last shown that no answer has proven
      answer: "", // the last that may have
      busy: false,
      rung: false,
      manner: {}, // who answers, and with which model
    }
    sessions.set(info.id, session)
    const left = show(session)
    next(session, async () => {
      await left
      await begin(session, source)
    })
    return session
  }

  // An idle session begins a turn; the hook at its message then shows the mail.
  const ring = (session) => {
    session.rung = true
    if (!session.busy) next(session, () => wake(session))
  }

  const wake = async (session) => {
    if (!session.rung || session.busy) return
    session.rung = false
    if (isQuiet(session.root)) return
    session.busy = true
    await prompt(session, NUDGE)
  }

  const prompt = async (session, text) => {
    try {
      const done = await client.session.promptAsync({
        path: { id: session.id },
        body: { ...session.manner, parts: [{ type: "text", text }] },
      })
      if (!done?.error) return true
    } catch {}
    session.busy = false
    return false
  }

  const idle = async (session) => {
    session.rung = false
    if (session.id !== session.root) {
      await ask(session, "child.idle", {})
      sessions.delete(session.id)
      return
    }
    const text = HEADLESS ? "" : await asked(session, "session.idle", {})
    if (text) {
      // What was claimed and not taken goes with whatever is said next: else that answer would prove it.
      if (!(await prompt(session, text))) session.greeting = `${session.greeting || ""}${text}`
      return
    }
    session.busy = false
    await wake(session)
  }

  // An answer that began after the last hand-over was made from a request that had it.
  const proves = (session, info) =>
    session.handed &&
    info.role === "assistant" &&
    info.time?.completed &&
    info.finish &&
    !info.error &&
    !info.summary &&
    info.time.created > session.handed

  const events = {
    "session.created": ({ info }) => sessions.has(info.id) || meet(info, "startup"),
    "session.compacted": ({ sessionID }) => {
      const session = known(sessionID)
      next(session, () => begin(session, "compact"))
    },
    "session.deleted": ({ info }) => {
      const session = sessions.get(info.id)
      if (session) next(session, () => leave(session))
    },
    "message.updated": ({ info }) => {
      const session = sessions.get(info.sessionID)
      if (!session || info.id === session.answer || !proves(session, info)) return
      session.answer = info.id
      next(session, async () => {
        await ask(session, "message.updated", {})
        if (isQuiet(session.root)) session.handed = 0 // else the next answer proves what is still open
      })
    },
    // It is compacted, say: a prompt of ours would be taken only after that, with mail for a context before it.
    "session.status": ({ sessionID, status }) => {
      const session = sessions.get(sessionID)
      if (session && status?.type === "busy") session.busy = true
    },
    "session.idle": ({ sessionID }) => {
      const session = sessions.get(sessionID)
      if (!session) return
      sign(session, "session.idle")
      next(session, () => idle(session))
    },
    "permission.asked": ({ sessionID }) => {
      const session = sessions.get(sessionID)
      if (session) sign(session, "permission.asked")
    },
  }

  return {
    event: async ({ event }) => {
      try {
        events[event.type]?.(event.properties)
      } catch {}
    },

    "chat.message": async (input, output) => {
      try {
        const session = known(input.sessionID)
        const left = session.busy ? undefined : show(session) // else this may be our own prompt
        session.busy = true
        const { agent = input.agent, model = input.model } = output.message
        session.manner = { agent, model }
        sign(session, "chat.message")
        const typed = output.parts.map((part) => part.text ?? "").join("\n")
        await next(session, async () => {
          await left
          const text = session.greeting + (await asked(session, "chat.message", { prompt: typed }))
          session.greeting = ""
          if (!text) return
          const last = output.parts.at(-1)
          const id = `prt_${Date.now().toString(16)}${Math.random().toString(36).slice(2, 14)}`
          output.parts.push({
            id,
            sessionID: input.sessionID,
            messageID: last?.messageID ?? output.message.id,
            type: "text",
            text,
            synthetic: true,
          })
        })
      } catch {}
    },

    "tool.execute.after": async (input, output) => {
      try {
        const session = known(input.sessionID)
        sign(session, "tool.execute.after")
        await next(session, async () => {
          const text = session.greeting + (await asked(session, "tool.execute.after", {}))
          session.greeting = ""
          if (text) output.output = `${output.output ?? ""}\n\n${text}`
        })
      } catch {}
    },

    "shell.env": async (input, output) => {
      const session = sessions.get(input.sessionID)
      if (session) output.env.OPENCODE_SESSION_ID = session.root
    },

    dispose: async () => {
      for (const session of sessions.values()) session.watcher?.close()
    },
  }
}
