/**
 * Readers of requests and files get mutated inputs of a corpus. A reader accepts or refuses each input. Any other error
 * would be a 5xx response or a crashed command. `npm run torture` adds each input that causes one to the corpus.
 */
import fc from 'fast-check'
import t from 'tap'
import { AdminError } from '../../../lib/admin-error.ts'
import { Refusal } from '../../../lib/errors.ts'
import { readBackup } from '../../../lib/moving/backup/read-backup.ts'
import { convertLangfuse } from '../../../lib/moving/langfuse/convert.ts'
import { readLogs } from '../../../lib/otlp/logs/records.ts'
import { readExport } from '../../../lib/otlp/read-export.ts'
import { prepare } from '../../../lib/trace/prepare.ts'
import { prepareRestore } from '../../../lib/trace/restore.ts'
import { inPieces } from '../../fixtures/database/backups.ts'
import { keepInput, mutate, readSeeds, someMutation } from '../input/corpus.ts'
import { figure, isLong, runs } from '../orders.ts'

/** Each reader, and the folder of its corpus. */
const READERS: Readonly<Record<string, (bytes: Buffer) => unknown>> = {
  record: bytes => prepare('record', bytes),
  append: bytes => prepare('append', bytes),
  end: bytes => prepare('end', bytes),
  'export-line': bytes => prepareRestore(bytes),
  'otlp-json': bytes => readExport(bytes, 'json'),
  'otlp-protobuf': bytes => readExport(bytes, 'protobuf'),
  'logs-json': bytes => readLogs(bytes, 'json'),
  'logs-protobuf': bytes => readLogs(bytes, 'protobuf'),
  langfuse(bytes) {
    for (const converted of convertLangfuse(bytes)) {
      if ('refusal' in converted) throw new AdminError(converted.refusal)
      prepareRestore(converted.line)
    }
  },
  async backup(bytes) {
    for await (const line of readBackup(inPieces(bytes)))
      if (line.name === 'trace') prepareRestore(Buffer.from(line.value.bytes))
  }
}

/** Maximum number of inputs of which further mutations are made. */
const MOST_INPUTS = 500

/** Returns `accepted` or the refusal, without its details. Throws any other error. */
async function outcomeOf(reader: string, bytes: Buffer): Promise<string> {
  try {
    await READERS[reader]!(bytes)
    return 'accepted'
  } catch (error) {
    if (error instanceof Refusal || error instanceof AdminError) return error.message.replace(/"[^"]*"|\d+/g, '…')
    throw error
  }
}

for (const reader of Object.keys(READERS)) {
  t.test(`${reader}: any input is accepted or rejected`, async t => {
    const seeds = readSeeds(reader)
    for (const { name, bytes, isValid } of seeds) {
      const outcome = await outcomeOf(reader, bytes)
      if (isValid) t.equal(outcome, 'accepted', name)
    }
    const pool = seeds.map(({ bytes }) => bytes)
    const outcomes = new Set<string>()
    let inputs = 0
    let failing: Buffer = Buffer.alloc(0)
    const attempt = fc.asyncProperty(someMutation, async mutation => {
      const bytes = mutate(pool, mutation)
      inputs++
      try {
        const outcome = await outcomeOf(reader, bytes)
        // An input that leads somewhere new may lead further.
        if (!outcomes.has(outcome) && pool.length < MOST_INPUTS) pool.push(bytes)
        outcomes.add(outcome)
      } catch (error) {
        failing = bytes
        throw error
      }
    })
    const { failed, errorInstance } = await fc.check(attempt, share(runs(150)))
    if (failed) {
      const place = isLong ? keepInput(reader, failing) : `base64 ${failing.toString('base64')}`
      t.fail(`${(errorInstance as Error).stack}\nof the input ${place}`)
    }
    t.ok(outcomes.size > 1, `${outcomes.size} different outcomes`)
    figure(`mutated inputs of ${reader}, and their outcomes`, `${inputs}, ${outcomes.size}`)
  })
}

/** The readers share the minutes of the part. */
function share({ interruptAfterTimeLimit, ...others }: fc.Parameters<unknown>): fc.Parameters<unknown> {
  const all = Object.keys(READERS).length
  return interruptAfterTimeLimit === undefined
    ? others
    : { ...others, interruptAfterTimeLimit: Math.max(5000, interruptAfterTimeLimit / all) }
}
