// Runs opencode's plugin outside of opencode: calls its hooks as told on standard input, one JSON line each,
// and prints what they made of their output; and, at any time, what the plugin prompts.

import { createInterface } from "node:readline"

const [plugin, directory] = process.argv.slice(2)
const tell = (what) => process.stdout.write(`${JSON.stringify(what)}\n`)
const client = { session: { promptAsync: async (options) => tell({ prompt: options }) } }
const { Postroom } = await import(plugin)
const hooks = await Postroom({ client, directory })

for await (const line of createInterface({ input: process.stdin })) {
  const { hook, input, output } = JSON.parse(line)
  await hooks[hook]?.(input, output)
  tell({ output })
}
