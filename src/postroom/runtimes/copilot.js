// Postroom's extension for Copilot CLI: wakes an idle session when mail comes; its hooks show the mail.
// Written by `postroom setup copilot`; edits are lost at the next one. Whatever fails in here is left out.

import fs from "node:fs"
import { joinSession } from "@github/copilot-sdk/extension"

const RUN = "%RUN%"
const NUDGE = "%NUDGE%"
const KEY = `p${process.ppid}` // as the session's hooks call it

const session = await joinSession({})
let busy = false
let rung = false
let watcher
let watched = ""

const isQuiet = () => {
  try {
    return fs.statSync(`${RUN}/quiet/s/${KEY}`).mtimeMs > Date.now()
  } catch {
    return false
  }
}

const wake = async () => {
  if (!rung || busy) return
  rung = false
  if (isQuiet()) return
  busy = true
  try {
    await session.send({ prompt: NUDGE })
  } catch {
    busy = false
  }
}

// Whose session this is shows once its first hook has run.
const watch = () => {
  try {
    const agent = fs.readlinkSync(`${RUN}/quiet/s/${KEY}`).split("/").pop()
    if (agent === watched) return
    watcher?.close()
    watcher = fs.watch(`${RUN}/ring/${agent}`, () => {
      rung = true
      wake()
    })
    watcher.on("error", () => {})
    watched = agent
  } catch {}
}

session.on((event) => {
  if (event.type === "user.message") {
    busy = true
  } else if (event.type === "session.idle") {
    busy = false
    watch()
    wake()
  }
})

watch() // an extension may be loaded after the first turn
