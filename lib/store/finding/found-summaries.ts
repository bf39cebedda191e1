/** Reads the summaries of found traces: those of the list, with the first error and the beginnings of the texts. */
import type { Sql } from 'postgres'
import type { TableNames } from '../../database/tables.ts'
import { SEARCHED } from '../../search/texts.ts'
import { list } from '../answers/json-text.ts'
import { pageText, readSummaries, type Summary } from '../lists/summary-page.ts'
import { withMessages } from '../search/spoken-traces.ts'
import { readSpanTexts } from '../spans/span-texts.ts'
import type { StepConditions } from './conditions.ts'
import type { FoundId } from './find-traces.ts'
import { chooseFailure, failuresFor, firstErrorOf } from './first-errors.ts'
import { previewOf } from './preview.ts'

interface TextRow {
  readonly seq: number
  readonly id: string
  readonly input: string | null
  readonly output: string | null
  readonly inputSpanId: string | null
  readonly outputSpanId: string | null
  readonly hasMessages: boolean
}

/**
 * Returns the summaries in the order of `found`, as a JSON array string. Traces deleted meanwhile are left out. `step`
 * is the step that the search asks for.
 */
export async function readFoundSummaries(
  sql: Sql,
  projectId: number,
  found: readonly FoundId[],
  names: TableNames,
  step?: StepConditions
): Promise<string> {
  if (found.length === 0) return '[]'
  const seqs = found.map(({ seq }) => seq)
  const read = await readSummariesOf(sql, projectId, found, names)
  const summaries = new Map(read.map(summary => [summary.id, summary]))
  const texts = await readTexts(sql, projectId, seqs, names, step)
  return list(
    found.flatMap(({ seq, id, excerpts }) => {
      const summary = summaries.get(id)
      if (summary === undefined) return []
      const { firstError = null, input = null, output = null } = texts.get(seq) ?? {}
      const more = {
        firstError,
        inputPreview: previewOf(input, 'input'),
        outputPreview: previewOf(output, 'output'),
        excerpt: excerpts[0] ?? null,
        moreExcerpts: excerpts.slice(1)
      }
      return `${summary.render().slice(0, -1)},${JSON.stringify(more).slice(1)}`
    })
  )
}

/** Returns the summaries of the list, in the order of `found`. Traces deleted meanwhile are left out. */
export async function readSummariesOf(
  sql: Sql,
  projectId: number,
  found: readonly FoundId[],
  names: TableNames
): Promise<readonly Summary[]> {
  if (found.length === 0) return []
  const [{ page }] = await sql.unsafe<[{ readonly page: string | null }]>(
    `select ${pageText(names)} as page from (
      select * from ${names.traces} where project_id = $1 and seq = any ($2::bigint[]) order by seq
    ) t`,
    [projectId, `{${found.map(({ seq }) => seq).join(',')}}`],
    { prepare: true }
  )
  const summaries = new Map(readSummaries(page).map(summary => [summary.id, summary]))
  return found.flatMap(({ id }) => summaries.get(id) ?? [])
}

/** Returns the given traces that exist, newest first. */
export async function findTracesById(
  sql: Sql,
  projectId: number,
  ids: readonly string[],
  names: TableNames
): Promise<readonly FoundId[]> {
  const rows = await sql.unsafe<{ readonly seq: number; readonly id: string }[]>(
    `select seq, replace(id::text, '-', '') as id from ${names.traces}
    where project_id = $1 and id = any ($2::uuid[]) order by started_at desc, id desc`,
    [projectId, ids as string[]],
    { prepare: true }
  )
  return rows.map(({ seq, id }) => ({ seq, id, excerpts: [] }))
}

interface FoundTexts {
  readonly input: string | null
  readonly output: string | null
  readonly firstError: object | null
}

async function readTexts(
  sql: Sql,
  projectId: number,
  seqs: readonly number[],
  names: TableNames,
  step: StepConditions | undefined
): Promise<ReadonlyMap<number, FoundTexts>> {
  const rows = await sql.unsafe<TextRow[]>(
    `select seq, id, left(input::text, ${SEARCHED.json}) as input,
      left(output::text, ${SEARCHED.json}) as output, input_span_id as "inputSpanId", output_span_id as "outputSpanId",
      exists (select from ${names.span_messages} m where m.project_id = $1 and m.trace_id = t.id) as "hasMessages"
    from ${names.traces} t where t.project_id = $1 and t.seq = any ($2::bigint[]) order by t.seq`,
    [projectId, `{${seqs.join(',')}}`],
    { prepare: true }
  )
  const shared = rows.flatMap(({ seq, inputSpanId, outputSpanId }) =>
    [inputSpanId, outputSpanId].flatMap(id => (id === null ? [] : { seq, id }))
  )
  const spans = await readSpanTexts(sql, projectId, { names, seqs, spans: shared, failures: failuresFor(step) })
  const texts = new Map<number, FoundTexts>()
  for (const row of rows) {
    const own = spans.filter(({ seq }) => seq === row.seq)
    const textOf = (id: string | null, side: 'input' | 'output') => own.find(span => span.id === id)?.[side] ?? null
    const input = row.input ?? textOf(row.inputSpanId, 'input')
    const output = row.output ?? textOf(row.outputSpanId, 'output')
    const failed = chooseFailure(own, step)
    const isSpoken = row.hasMessages && (input === null || output === null)
    const shown = isSpoken
      ? (await withMessages(sql, projectId, { trace: { ...row, input, output }, calls: [] }, names)).trace
      : { input, output }
    texts.set(row.seq, {
      input: shown.input,
      output: shown.output,
      firstError: failed === undefined ? null : firstErrorOf(failed)
    })
  }
  return texts
}
