/**
 * A worker that takes jobs from a queue, two at a time, and stops on SIGTERM. Here
 * the queue is stdin, one job per line: {"id": "7", "text": "…", "traceparent": "…"}.
 * With a `traceparent`, a job joins the trace of the step that queued it.
 */
import { createInterface } from 'node:readline'
import { Spoor } from 'spoor-client'

interface Job {
  readonly id: string
  readonly text: string
  readonly traceparent?: string
}

const spoor = new Spoor()
const lines = createInterface({ input: process.stdin })
// Started jobs finish, and their traces are sent at exit or kept on disk.
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
      // The job's trace has recorded the error, and the worker continues.
      console.error(`failed: ${line}: ${error}`)
    }
  }
}

await Promise.all([takeJobs(), takeJobs()])
