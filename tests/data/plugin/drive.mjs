// Runs opencode's plugin outside of opencode: calls its hooks as told on standard input, one JSON line each,
// and prints what they made of their output; and, at any time, what the plugin prompts. With an address it is a
// terminal's worker, whose server is there.

import { createInterface } from "node:readline"

const [plugin, directory, url] = process.argv.slice(2)
if (url) process.argv[1] = "/$bunfs/root/src/cli/tui/worker.js"
const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const client = { session: { promptAsync: async (options) => tell({ prompt: options }) } }
const { Postroom } = await import(plugin)
const hooks = await Postroom({ client, directory, serverUrl: new URL(url ?? "http://127.0.0.1:4096") })

for await (const line of createInterface({ input: process.stdin })) {
  const { hook, input, output } = JSON.parse(line)
  await hooks[hook]?.(input, output)
  tell({ output })
}
