import { basename } from 'node:path'
import { addAbortSignal } from 'node:stream'
import { requireProject } from '../../../lib/admin/projects.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import type { ImportCounts, ImportResult } from '../../../lib/moving/import-file.ts'
import { command, UsageError } from '../../command.ts'
import { type DatabaseSession, RESTORE_HEAP_MIB, withDatabase } from '../../database.ts'
import { openSource } from '../../terminal/input.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Progress } from '../../terminal/progress.ts'
import { alignColumns } from '../../terminal/table.ts'
import { bar, count, counted, rate, size } from '../../terminal/words.ts'
import { importAgent } from './import-transcripts.ts'

const TRANSCRIPTS = ['claude-code', 'codex'] as const
const FORMATS = ['spoor', 'langfuse', ...TRANSCRIPTS] as const
type Format = (typeof FORMATS)[number]

export default command({
  summary: 'Import traces from a file into a project',
  parameters: ['PATH'],
  flags: {
    project: { type: 'string', value: 'SLUG', about: 'the project to import the traces into' },
    format: { type: 'string', value: FORMATS.join('|'), about: 'the file format; spoor by default' },
    follow: { type: 'boolean', about: "keep importing a coding agent's new steps until you press Ctrl-C" }
  },
  details: [
    'PATH is a file from `spoor export`, gzipped or not, or - for stdin. Ids, times, scores, environments and keys are',
    'kept; traces without a recorded environment stay without one.',
    '',
    'You can repeat an import, and import later exports over it. A stored trace is updated if the file has a later',
    'state (more spans, its end, a later metadata patch, more scores), and otherwise stays unchanged. Its stored',
    'environment and key are kept. Nothing is deleted: a score that was deleted at the source before the export',
    'remains here. A line that conflicts with the stored trace, or cannot be imported, is reported; the import',
    'continues, and the exit code is 1.',
    '',
    "With --format langfuse, PATH contains responses from Langfuse's GET /api/public/traces/{id}: traces with their",
    'observations and scores, one per line, in an array, or a single trace. Data without a matching field is kept in',
    'metadata and attributes under `langfuse.`, and a summary lists the mapped fields.',
    '',
    'With --format claude-code or codex, PATH is one of the coding agent’s transcripts, or a folder of transcripts,',
    'such as ~/.claude/projects or ~/.codex/sessions. Each prompt becomes a trace, with its model calls, tools and',
    'subagents. A step is imported once it has finished, so you can repeat the import while the agent works; --follow',
    'checks for new steps every second. Without --project, the traces are sent to the server at SPOOR_URL with',
    'SPOOR_API_KEY.'
  ].join('\n'),
  examples: [
    'import --project default traces.ndjson',
    'import --project archive - < traces.ndjson.gz',
    'import --project default --format langfuse langfuse.json',
    'import --project default --format claude-code ~/.claude/projects',
    'import --format codex --follow ~/.codex/sessions'
  ],
  async run(call) {
    const { parameters, flags, env, print, progress } = call
    const format = parseFormat(flags.format)
    const { project, follow } = flags
    const agent = TRANSCRIPTS.find(each => each === format)
    if (agent !== undefined) return importAgent({ path: parameters.PATH, format: agent, project, follow }, call)
    if (follow) throw new UsageError(`--follow needs --format ${TRANSCRIPTS.join(' or ')}`)
    if (project === undefined) throw new UsageError('--project is missing')
    const result = await withDatabase(env, session =>
      interruptible(signal => importFile(session, parameters.PATH, project, format, progress, signal))
    )
    progress.clear()
    const { mapped, ...counts } = result
    print(format === 'spoor' ? counts : { ...counts, mapped: Object.fromEntries(mapped) }, describe(result))
    if (result.refused > 0) {
      throw new AdminError(
        `${count(result.refused)} of ${counted(result.traces, 'trace')} could not be imported: see above`
      )
    }
  }
})

async function importFile(
  { database, config, log, sql }: DatabaseSession,
  file: string,
  project: string,
  format: Format,
  progress: Progress,
  signal: AbortSignal
) {
  // Loaded here because --help does not need these modules.
  const [{ WritePath }, { importTraces }, { convertLangfuse }, { amendAudit, writeAudit }] = await Promise.all([
    import('../../../lib/ingest/write-path.ts'),
    import('../../../lib/moving/import-file.ts'),
    import('../../../lib/moving/langfuse/convert.ts'),
    import('../../../lib/store/audit.ts')
  ])
  const projectId = await requireProject(sql, project)
  const { stream, length } = await openSource(file)
  const detail = { file: basename(file), format }
  const auditId = await writeAudit(sql, { by: null, action: 'trace.import', projectId, detail })
  let counts: ImportCounts | undefined
  const lanes = { workers: config.workers, trialTraces: undefined, heapMiB: RESTORE_HEAP_MIB }
  const path = new WritePath(database, lanes, log)
  try {
    return await importTraces(path, projectId, addAbortSignal(signal, stream), {
      onProblem: (place, reason) => progress.say(`${place}: ${reason}`),
      onProgress: now => {
        counts = now
        progress.show(seconds => describeProgress(now, length, seconds))
      },
      signal,
      ...(format === 'langfuse' && { convert: convertLangfuse })
    })
  } finally {
    await path.close()
    if (counts !== undefined) {
      const { imported, advanced, skipped, refused } = counts
      await amendAudit(sql, auditId, { imported, advanced, skipped, refused }).catch(() => {})
    }
  }
}

function parseFormat(text = 'spoor'): Format {
  const format = FORMATS.find(format => format === text)
  if (format !== undefined) return format
  throw new UsageError(`--format must be one of ${FORMATS.join(', ')}, not ${JSON.stringify(text)}`)
}

function describeProgress({ traces, bytes }: ImportCounts, length: number | undefined, seconds: number): string {
  const done = `${counted(traces, 'trace')}, ${size(bytes)}, ${rate(traces, bytes, seconds)}`
  return length === undefined ? done : `${bar(bytes, length)}  ${done}`
}

function describe({ traces, imported, advanced, skipped, refused, mapped }: ImportResult): string {
  const news = [`${count(imported)} imported`, ...(advanced === 0 ? [] : [`${count(advanced)} updated`])]
  const counts = `${counted(traces, 'trace')} read: ${news.join(', ')}, ${count(skipped)} already stored`
  const rows = [...mapped].sort().map(([step, times]) => [count(times).padStart(8), step])
  return [
    `${counts}${refused === 0 ? '' : `, ${count(refused)} rejected`}`,
    ...(rows.length === 0 ? [] : ['', 'How fields were mapped:', ...alignColumns(rows)])
  ].join('\n')
}
