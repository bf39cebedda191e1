import { readFile, rename, writeFile } from 'node:fs/promises'
import { AdminError } from '../../../lib/admin-error.ts'
import type { RowKind, Table } from '../../../lib/moving/tables/columns.ts'
import type { TableWriter } from '../../../lib/moving/tables/writers.ts'
import type { ExportChoice } from '../../../lib/store/answers/export-page.ts'
import type { ShownTrace } from '../../../lib/store/answers/traces.ts'
import { decodePosition, encodePosition, type Position } from '../../../lib/store/changes/position.ts'
import type { Asker } from '../../asking/asker.ts'
import { ASKING_FLAGS, refuseServer, withAsker } from '../../asking/place.ts'
import { command, UsageError } from '../../command.ts'
import { type DatabaseSession, withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import { readMoments } from '../../terminal/times.ts'
import { counted, rate, size } from '../../terminal/words.ts'
import { readSelection, SELECTION_FLAGS } from '../traces/selection.ts'
import { Elements, OutputPieces } from './pieces.ts'

const FORMATS = ['ndjson', 'csv', 'parquet'] as const
type Format = (typeof FORMATS)[number]
const KINDS = ['traces', 'spans', 'scores'] as const satisfies readonly RowKind[]
/** The value of --since that stands for the first sync. */
const START = 'start'

export default command({
  summary: "Write a project's traces to stdout",
  flags: {
    ...ASKING_FLAGS,
    ...SELECTION_FLAGS,
    since: {
      type: 'string',
      value: 'TIME|CURSOR',
      about: 'only traces that started at this time or later; with a cursor, only traces written after it'
    },
    'cursor-file': {
      type: 'string',
      value: 'FILE',
      about: 'read the cursor for --since from FILE, and save the next one there'
    },
    format: { type: 'string', value: 'FORMAT', about: 'ndjson (the default), csv or parquet' },
    rows: { type: 'string', value: 'ROWS', about: 'one row per trace, span or score' },
    columns: { type: 'string', value: 'LIST', about: 'the columns to write, separated by commas; all by default' },
    as: {
      type: 'string',
      value: 'FORM',
      about: 'dataset: the input, output and scores of each finished trace, as JSON lines'
    }
  },
  details: [
    'Without --format, --rows, --columns or --as, each line is the response to GET /api/v1/traces/{traceId}, plus the',
    'recording key in `trace.keyId` and, in `recorded`, data that only `spoor import` needs. `trace.environment` is',
    'null for unassigned, and absent if no environment was recorded. Only these lines can be imported. Running traces',
    'are exported in their current state. Each trace is consistent as of the moment it is read. Traces that are',
    'recorded or deleted during the export may or may not be included. With --json, the output is one array of these',
    'lines.',
    '',
    'With a key, the command fetches traces from a server one at a time, newest first. The lines then have no',
    '`trace.keyId` or `recorded`. For a whole project, --project is much faster.',
    '',
    'With --rows, the export is a table. Inputs, outputs, metadata, tags, attributes and events are JSON columns. In',
    'CSV, text that a spreadsheet would run as a formula gets a leading apostrophe. NDJSON and Parquet are exact.',
    'With --rows traces, --columns also accepts score:NAME: the newest value of the score with this name.',
    '',
    'To keep a copy up to date, use --cursor-file, or --since with the cursor that the last export printed to stderr;',
    '"start" means all traces. The export then contains every trace written since: recorded, continued, patched or',
    "scored. Replace a trace's rows whenever it appears again. Deletions are not included. The cursors also work with",
    'GET /api/v1/changes. One that is over 30 days old, or from before a restore, is rejected: start again.'
  ].join('\n'),
  examples: [
    'export --project default > traces.ndjson',
    'export --project default --since 2026-01-01 --before 2026-02-01 | gzip > january.ndjson.gz',
    'export --user user-42 > everything-of-user-42.ndjson',
    "export --score 'helpfulness<0.5' --as dataset > to-improve.jsonl",
    'export --project default --since 7d --errors | spoor import --project failures -',
    'export --project default --cursor-file sync.cursor --format parquet --rows spans > spans.parquet',
    'export --project default --rows scores --format csv --columns traceId,name,value > scores.csv',
    'export --project default --format csv --columns id,name,score:helpfulness > scored.csv',
    'export --project default --as dataset --since 7d > dataset.jsonl'
  ],
  async run({ flags, env, json, stream, progress }) {
    const form = parseForm(flags, json)
    const since = await readSince(flags)
    const selection = readSelection(since === undefined ? flags : { ...flags, since: undefined })
    const output = await outputOf(form)
    let traces = 0
    let bytes = 0
    let next: string | undefined
    const pieces = new OutputPieces(stream)
    const wrote = async (written: number, piece: Uint8Array) => {
      await pieces.add(piece)
      traces += written
      bytes += piece.length
      progress.show(seconds => `${counted(traces, 'trace')}, ${size(bytes)}, ${rate(traces, bytes, seconds)}`)
    }
    const elements = new Elements()
    const proceed = (signal: AbortSignal) => {
      if (signal.aborted) throw new AdminError('interrupted: the output is incomplete')
    }
    /** Writes the traces that an asker finds. `write` writes a page of traces. */
    const writeAsked = async (asker: Asker, signal: AbortSignal, write: (ids: readonly string[]) => Promise<void>) => {
      const { askedChanges, askedTraces } = await import('./asked-traces.ts')
      const after = since?.after === undefined ? undefined : encodePosition(since.after)
      const pages = since === undefined ? askedTraces(asker, selection) : askedChanges(asker, selection, after)
      for await (const page of pages) {
        proceed(signal)
        if (page.ids.length > 0) await write(page.ids)
        next = page.next
      }
    }
    const writeOverHttp = async (asker: Asker, signal: AbortSignal) => {
      // Loaded here because --help does not need these modules.
      const [{ readAsked }, { shownOf }] = await Promise.all([
        import('./asked-traces.ts'),
        import('../../../lib/moving/shown-answer.ts')
      ])
      await writeAsked(asker, signal, async ids => {
        for await (const answer of readAsked(asker, ids)) {
          proceed(signal)
          const line = Buffer.from(`${answer.trimEnd()}\n`)
          await wrote(1, output?.add(shownOf(answer)) ?? (json ? elements.of(line) : line))
        }
      })
    }
    const writeBeside = async (project: string, session: DatabaseSession, signal: AbortSignal) => {
      const { sql } = session
      // Loaded here because --help does not need these modules.
      const [{ exportPages, shownTraces }, { changedTraces }, { requireProject }] = await Promise.all([
        import('../../../lib/moving/export-project.ts'),
        import('../../../lib/moving/export-changes.ts'),
        import('../../../lib/admin/projects.ts')
      ])
      const projectId = await requireProject(sql, project)
      const write = async (choice: ExportChoice) => {
        if (output === undefined) {
          for await (const page of exportPages(sql, projectId, choice)) {
            proceed(signal)
            await wrote(page.traces, json ? elements.of(page.lines) : page.lines)
          }
          return
        }
        for await (const trace of shownTraces(sql, projectId, choice)) {
          proceed(signal)
          await wrote(1, output.add(trace))
        }
      }
      const { conditions, isFurther } = selection
      if (isFurther) {
        const { DatabaseAsker } = await import('../../asking/beside-database.ts')
        const asker = await DatabaseAsker.open(session, project)
        try {
          await writeAsked(asker, signal, ids => write({ ids }))
        } finally {
          await asker.close()
        }
      } else if (since === undefined) await write(conditions)
      else {
        for await (const changed of changedTraces(sql, projectId, since.after)) {
          proceed(signal)
          if (changed.ids.length > 0) await write({ ...conditions, ids: changed.ids })
          next = encodePosition(changed.next)
        }
      }
    }
    const { project } = flags
    await pieces.add(output?.head() ?? NOTHING)
    if (project === undefined) {
      await withAsker(flags, env, asker => interruptible(signal => writeOverHttp(asker, signal)))
    } else {
      refuseServer(flags)
      await withDatabase(env, session => interruptible(signal => writeBeside(project, session, signal)))
    }
    await pieces.add(output?.end() ?? NOTHING)
    await pieces.flush()
    if (json) await stream(traces === 0 ? '[]\n' : '\n]\n')
    progress.clear()
    if (next === undefined) return
    if (since?.file === undefined) progress.say(`next cursor: ${next}`)
    else await replaceFile(since.file, `${next}\n`)
  }
})

const NOTHING = new Uint8Array()

interface FormFlags {
  readonly format: string | undefined
  readonly rows: string | undefined
  readonly columns: string | undefined
  readonly as: string | undefined
}

/** The output format; `lines` is the one that `spoor import` reads. */
type Form =
  | { readonly as: 'lines' }
  | { readonly as: 'dataset' }
  | { readonly as: 'table'; readonly format: Format; readonly rows: RowKind; readonly columns: string[] | undefined }

function parseForm({ format, rows, columns, as }: FormFlags, json: boolean): Form {
  const isTable = format !== undefined || rows !== undefined || columns !== undefined
  if ((isTable || as !== undefined) && json)
    throw new UsageError('--json cannot be combined with --format, --rows or --columns')
  if (as !== undefined) {
    oneOf('as', ['dataset'], as)
    if (isTable) throw new UsageError('--as cannot be combined with --format, --rows or --columns')
    return { as: 'dataset' }
  }
  const parsed = oneOf('format', FORMATS, format ?? 'ndjson')
  const kind = oneOf('rows', KINDS, rows ?? 'traces')
  if (parsed === 'ndjson' && rows === undefined && columns === undefined) return { as: 'lines' }
  return { as: 'table', format: parsed, rows: kind, columns: columns?.split(',').map(name => name.trim()) }
}

function oneOf<T extends string>(flag: string, all: readonly T[], given: string): T {
  const found = all.find(each => each === given)
  if (found !== undefined) return found
  throw new UsageError(`--${flag} must be one of ${all.join(', ')}, not ${JSON.stringify(given)}`)
}

interface Output extends Pick<TableWriter, 'head' | 'end'> {
  add(trace: ShownTrace): Uint8Array
}

/** Returns the writer of a table or a dataset; undefined for lines. */
async function outputOf(form: Form): Promise<Output | undefined> {
  if (form.as === 'lines') return undefined
  const { csvWriter, datasetLine, ndjsonWriter } = await import('../../../lib/moving/tables/writers.ts')
  if (form.as === 'dataset') {
    const add = (trace: ShownTrace) => Buffer.from(datasetLine(trace) ?? '', 'latin1')
    return { head: () => NOTHING, add, end: () => NOTHING }
  }
  const table = await readTable(form)
  const { columns, rowsOf } = table
  const writer =
    form.format === 'parquet'
      ? (await import('../../../lib/moving/tables/parquet.ts')).parquetWriter(columns)
      : form.format === 'csv'
        ? csvWriter(columns)
        : ndjsonWriter(columns)
  return { head: writer.head, add: trace => writer.add(rowsOf(trace)), end: writer.end }
}

async function readTable({ rows, columns }: Extract<Form, { as: 'table' }>): Promise<Table> {
  const { COLUMN_NAMES, isScoreColumn, tableOf } = await import('../../../lib/moving/tables/columns.ts')
  const known = COLUMN_NAMES[rows]
  const isKnown = (name: string) => known.includes(name) || isScoreColumn(rows, name)
  const unknown = columns?.find((name, i) => !isKnown(name) || columns.indexOf(name) !== i)
  if (unknown !== undefined) {
    const rule = isKnown(unknown) ? 'repeats a column' : `does not match any column of ${rows}`
    const all = rows === 'traces' ? [...known, 'score:NAME'] : known
    throw new UsageError(`--columns ${rule}: ${JSON.stringify(unknown)}. The columns are ${all.join(', ')}`)
  }
  return tableOf(rows, columns)
}

interface SinceFlags {
  readonly since: string | undefined
  readonly 'cursor-file': string | undefined
  readonly from: string | undefined
  readonly to: string | undefined
  readonly before: string | undefined
}

/** The start of an export of changes, and the file for the next cursor. */
interface Since {
  readonly after: Position | undefined
  readonly file: string | undefined
}

/** Returns undefined if `--since` is absent or a time. */
async function readSince(flags: SinceFlags): Promise<Since | undefined> {
  const { since, 'cursor-file': file, from, to, before } = flags
  if (since === undefined && file === undefined) return undefined
  const stored = since === undefined && file !== undefined ? await readIfPresent(file) : undefined
  const cursor = since ?? stored?.trim() ?? START
  const after = decodePosition(cursor)
  if (cursor !== START && after === undefined) {
    const isTime = since !== undefined && readMoments(since, Date.now()) !== undefined
    if (isTime && file === undefined) return undefined
    const name = since === undefined ? `the content of ${file}` : '--since'
    const time = file === undefined ? 'a time such as 7d or 2026-01-31, ' : ''
    throw new UsageError(`${name} must be ${time}"${START}", or a cursor from this command or GET /api/v1/changes`)
  }
  if (from !== undefined || to !== undefined || before !== undefined) {
    throw new UsageError('a cursor cannot be combined with --from, --to or --before')
  }
  return { after, file }
}

async function readIfPresent(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw new AdminError(`${file} cannot be read: ${(error as Error).message}`)
  }
}

/** Replaces a file in one step, so that an interruption leaves the old content. */
async function replaceFile(file: string, text: string): Promise<void> {
  const partial = `${file}.partial`
  await writeFile(partial, text)
  await rename(partial, file)
}
