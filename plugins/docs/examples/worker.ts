/**
 * A worker that takes jobs from a queue, two at a time, and stops when it is told to. Here the queue is stdin, with a job in
 * each line: {"id": "7", "text": "…", "traceparent": "00-…"}. Whoever puts a job there gives it the `traceparent` of a step,
 * and the work becomes part of that trace.
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
// What has begun is finished. What is recorded by then is sent when the process ends, or kept on disk for the next start.
process.once('SIGTERM', () => lines.close())

const summarise = spoor.observe(
  async (text: string) => {
    if (text === '') throw new Error('there is nothing to summarise')
    return text.slice(0, text.indexOf('.') + 1)
  },
  { name: 'summarise', kind: 'chain' }
)

async function work({ id, text, traceparent }: Job): Promise<void> {
  const options = { ...spoor.fromHeaders({ traceparent }), input: text, tags: ['worker'], metadata: { job: id } }
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
