/**
 * A worker that takes jobs from a queue, two at a time, and stops when it is told to.
 * Here the queue is stdin, a job a line: {"id": "7", "text": "…", "traceparent": "…"}.
 * Whoever puts a job there gives it a step's `traceparent`: it is part of that trace.
 */
import { createInterface } from 'node:readline'
import { Spoor } from 'spoor/client'

interface Job {
  readonly id: string
  readonly text: string
  readonly traceparent?: string
}

const spoor = new Spoor()
const lines = createInterface({ input: process.stdin })
// What has begun is finished, and sent when the process ends, or kept on disk.
process.once('SIGTERM', () => lines.close())

const summarise = spoor.observe(
  async (text: string) => {
    if (text === '') throw new Error('there is nothing to summarise')
    return text.slice(0, text.indexOf('.') + 1)
  },
  { name: 'summarise', kind: 'chain' }
)

async function work({ id, text, traceparent }: Job): Promise<void> {
  const parent = spoor.fromHeaders({ traceparent })
  const options = { ...parent, input: text, tags: ['worker'], metadata: { job: id } }
  await spoor.trace('job', options, () => summarise(text))
}

const queue = lines[Symbol.asyncIterator]()

async function takeJobs(): Promise<void> {
  for await (const line of queue) {
    try {
      await work(JSON.parse(line))
    } catch (error) {
      // The trace of the job has failed and says why; the worker goes on.
      console.error(`failed: ${line}: ${error}`)
    }
  }
}

await Promise.all([takeJobs(), takeJobs()])
