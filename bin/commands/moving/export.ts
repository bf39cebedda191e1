import type { Sql } from 'postgres'
import { AdminError } from '../../../lib/admin-error.ts'
import { command } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { counted, rate, size } from '../../terminal/words.ts'
import { CONDITION_FLAGS, readConditions } from '../traces/conditions.ts'

export default command({
  summary: 'Write the traces of a project to stdout, one per line',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'the project whose traces to export' },
    ...CONDITION_FLAGS
  },
  details: [
    'A line is the response to GET /api/v1/traces/{traceId}, with the recording key in `trace.keyId` and, in',
    '`recorded`, data that only `spoor import` needs. `trace.environment` is null for unassigned, and absent if no',
    'environment was recorded. Running traces are exported in their current state. Every trace is complete as of the',
    'time when it is read. Traces that are recorded or deleted during the export may or may not be included. With',
    '--json, the output is one array of lines.',
    '',
    'To keep a copy up to date, import later exports into it. --since refers to the start of a trace, so choose a time',
    'before the start of all traces that are still running, patched or scored.'
  ].join('\n'),
  examples: [
    'export --project default > traces.ndjson',
    'export --project default --since 2026-01-01 --before 2026-02-01 | gzip > january.ndjson.gz',
    'export --project default --user user-42 > everything-of-user-42.ndjson',
    'export --project default --since 7d --errors | spoor import --project failures -'
  ],
  async run({ flags, env, json, stream, progress }) {
    const conditions = readConditions(flags)
    let traces = 0
    let bytes = 0
    const elements = new Elements()
    const writeAll = async (sql: Sql, signal: AbortSignal) => {
      // Loaded here because --help does not need these modules.
      const [{ exportPages }, { requireProject }] = await Promise.all([
        import('../../../lib/moving/export-project.ts'),
        import('../../../lib/admin/projects.ts')
      ])
      const projectId = await requireProject(sql, flags.project)
      for await (const page of exportPages(sql, projectId, conditions)) {
        if (signal.aborted) throw new AdminError('interrupted: the output is incomplete')
        await stream(json ? elements.of(page.lines) : page.lines)
        traces += page.traces
        bytes += page.lines.length
        progress.show(seconds => `${counted(traces, 'trace')}, ${size(bytes)}, ${rate(traces, bytes, seconds)}`)
      }
    }
    await withDatabase(env, ({ sql }) => interruptible(signal => writeAll(sql, signal)))
    if (json) await stream(traces === 0 ? '[]\n' : '\n]\n')
    progress.clear()
  }
})

/** Converts pieces of NDJSON to pieces of a JSON array. The caller writes the closing bracket. */
class Elements {
  /** Separator before the next piece. */
  #next = '[\n'

  of(lines: Buffer): Buffer {
    const isEnd = lines.at(-1) === LF
    const text = lines.toString('latin1', 0, isEnd ? lines.length - 1 : lines.length)
    const elements = `${this.#next}${text.replaceAll('\n', ',\n')}`
    this.#next = isEnd ? ',\n' : ''
    return Buffer.from(elements, 'latin1')
  }
}

const LF = '\n'.charCodeAt(0)
