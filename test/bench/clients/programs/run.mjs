/**
 * Measures one client: `node run.mjs CLIENT TRACES`, where CLIENT is a module beside this file. Records traces of one
 * root and seven steps, sends them, and prints the CPU time of this process per span, in µs, and its memory.
 */
import { pathToFileURL } from 'node:url'

const [client, traces] = [process.argv[2], Number(process.argv[3])]
const SPANS = 8
const EACH_FLUSH = 50
const text = 'The customer asks where the order is, and the agent looks it up in the shop. '.repeat(12)

const begun = performance.now()
const { observe, flush } = await (await import(pathToFileURL(client).href)).start()
const startMs = performance.now() - begun

let count = 0
const step = observe('step', async question => ({ answer: `${text} ${question.length}` }))
const agent = observe('agent', async question => {
  for (let i = 1; i < SPANS; i++) await step(`m${count++}m ${text}`)
  return question
})

async function record(number) {
  for (let i = 0; i < number; i++) {
    await agent(`m${count++}m ${text}`)
    // OpenTelemetry's queue holds 2,048 spans, and drops others without a word.
    if (i % EACH_FLUSH === EACH_FLUSH - 1) await flush()
  }
  await flush()
}

await record(Math.ceil(traces / 4))
const before = process.cpuUsage()
await record(traces)
const { user, system } = process.cpuUsage(before)
const cpuMicros = (user + system) / (traces * SPANS)
console.log(JSON.stringify({ cpuMicros, startMs, rssBytes: process.memoryUsage.rss(), spans: count }))
process.exit(0)
