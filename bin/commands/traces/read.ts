/** Commands that read traces. */
import { setTimeout } from 'node:timers/promises'
import type { TraceConditions } from '../../../lib/store/trace/trace-conditions.ts'
import { epochMs, isBefore, microsOf, timestampOf } from '../../../lib/trace/timestamp.ts'
import type { QueryMembers } from '../../asking/asker.ts'
import { PassingFailure } from '../../asking/failure.ts'
import {
  collect,
  jsonLine,
  LIMIT_FLAG,
  listLines,
  listPages,
  OUTPUT_FLAGS,
  parseId,
  parseLimit,
  printAnswer,
  printList
} from '../../asking/output.ts'
import { ASKING_FLAGS, withAsker } from '../../asking/place.ts'
import { command, UsageError } from '../../command.ts'
import { type ShownSummary, TRACE_TABLE, tailLine } from '../../terminal/columns.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { DetailedTrace } from '../../terminal/trace-lines.ts'
import { CONDITION_FLAGS, oneOf, readConditions } from './conditions.ts'
import { Watch } from './watch.ts'

const TRACES = '/api/v1/traces'
const SEARCH = '/api/v1/search'
/** Numbers of traces that a list shows by default and at most, and that one request returns at most. */
const USUAL = 50
const MOST = 100_000
const PAGE = 200
export const TRACE_SORTS = ['newest', 'slowest', 'costliest']

export const READ_FLAGS = { ...ASKING_FLAGS, ...OUTPUT_FLAGS }

/** Returns the conditions as a query of the trace list or of the search. */
export function queryOf({ before, to, ...same }: TraceConditions): QueryMembers {
  const last = before === undefined ? undefined : justBefore(before)
  return { ...same, to: last !== undefined && (to === undefined || isBefore(last, to)) ? last : to }
}

const shifted = (time: string, micros: number): string => timestampOf(epochMs(time) * 1000 + microsOf(time) + micros)
const justBefore = (time: string): string => shifted(time, -1)
export const justAfter = (time: string): string => shifted(time, 1)

export const traceList = command({
  summary: 'List traces, newest first',
  flags: {
    ...CONDITION_FLAGS,
    'runs-only': { type: 'boolean', about: 'only traces with a cost, or with a model, agent, tool or retriever call' },
    sort: { type: 'string', value: 'S', about: `${TRACE_SORTS.join(', ')}; newest by default` },
    limit: LIMIT_FLAG(MOST),
    ...READ_FLAGS
  },
  examples: [
    'trace list --since 1h',
    'trace list --errors --name answer-question --limit 200',
    'trace list --sort costliest --model gpt-5 --project default',
    'trace list --since today --ndjson | jq -r .id'
  ],
  async run(call) {
    const { flags, env, screen } = call
    const conditions = queryOf(readConditions(flags))
    const query = {
      ...conditions,
      runsOnly: flags['runs-only'] || undefined,
      sort: oneOf('sort', flags.sort, TRACE_SORTS)
    }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    await withAsker(flags, env, asker =>
      printList<ShownSummary>(
        call,
        listPages(asker, { path: pathFor(query), query, member: 'traces', limit, pageSize: PAGE }),
        (traces, end) =>
          listLines({ columns: TRACE_TABLE, rows: traces, width: screen.columns }, end, {
            ...{ nouns: 'traces', limit, most: MOST }
          })
      )
    )
  }
})

/** Returns the route for the query: the trace list or, if the list does not accept the query, the search. */
function pathFor({ errors, sort = 'newest', ...query }: QueryMembers): string {
  const isListed = sort === 'newest' || NEWEST_ONLY.every(name => query[name] === undefined)
  return errors === undefined && isListed ? TRACES : SEARCH
}

/** Parameters that the trace list accepts only when it sorts by time. */
const NEWEST_ONLY = ['sessionId', 'userId', 'from', 'to'] as const

export const traceShow = command({
  summary: 'Show a trace as the tree of its steps, the failed step first',
  parameters: ['TRACE'],
  flags: {
    texts: { type: 'boolean', about: 'also show inputs, outputs, attributes and events' },
    ...READ_FLAGS
  },
  details: 'With --json, the output is the response of GET /api/v1/traces/{traceId}.',
  examples: [
    'trace show 4bf92f3577b34da6a3ce929d0e0e4736',
    'trace show 4bf92f3577b34da6a3ce929d0e0e4736 --texts',
    "trace show 4bf92f3577b34da6a3ce929d0e0e4736 --json | jq '.spans[].name'"
  ],
  async run(call) {
    const { parameters, flags, env, screen } = call
    const id = parseId('TRACE', parameters.TRACE, 32)
    const text = await withAsker(flags, env, asker => asker.ask('GET', `${TRACES}/${id}`))
    // Loaded here because --help does not need this module.
    const { traceLines } = await import('../../terminal/trace-lines.ts')
    const options = { columns: screen.columns, hasTexts: flags.texts }
    await printAnswer<DetailedTrace>(call, text, detail => traceLines(detail, options))
  }
})

const TAIL_USUAL = 10
const POLL_MS = 2000
/** Number of newest traces among which `tail` looks for traces that were recorded or have ended since. */
const WATCHED = 5 * PAGE

export const traceTail = command({
  summary: 'Show the newest traces, and with -f new traces as they arrive',
  flags: {
    follow: { type: 'boolean', short: 'f', about: 'keep showing new traces until Ctrl-C' },
    ...CONDITION_FLAGS,
    limit: { type: 'string', value: 'N', about: `the number of traces shown first; ${TAIL_USUAL} by default` },
    ...READ_FLAGS
  },
  details: [
    'With -f, a trace is shown when it appears, and again when it ends. The command looks every two seconds among',
    `the ${WATCHED.toLocaleString('en')} traces that started last, so it misses traces that are recorded long after`,
    'their start.'
  ].join('\n'),
  examples: ['trace tail -f', 'trace tail -f --errors --environment production', 'trace tail --ndjson --limit 100'],
  async run(call) {
    const { flags, env, json, screen, stream, progress } = call
    // Loaded here because --help does not need this module.
    const { stringifyExact } = await import('../../../lib/trace/json/exact-json.ts')
    if (json && flags.follow) throw new UsageError('--follow never ends: use --ndjson instead of --json')
    const query = queryOf(readConditions(flags))
    const limit = parseLimit('limit', flags.limit, TAIL_USUAL, WATCHED)
    const request = { path: pathFor(query), query, member: 'traces', limit, pageSize: PAGE }
    await withAsker(flags, env, async asker => {
      const newest = await collect<ShownSummary>(asker, { ...request, limit: flags.follow ? WATCHED : limit })
      const first = newest.slice(0, limit).reverse()
      const write = async (traces: readonly ShownSummary[]) => {
        if (flags.ndjson) await stream(traces.map(trace => jsonLine(stringifyExact(trace))).join(''))
        else await screen.write(traces.map(trace => tailLine(trace, screen.columns)))
      }
      if (json) await stream(jsonLine(stringifyExact(first)))
      else await write(first)
      if (!flags.follow) return
      await interruptible(async signal => {
        const watch = new Watch(newest)
        while (!signal.aborted) {
          await setTimeout(POLL_MS, undefined, { signal }).catch(() => {})
          if (signal.aborted) break
          try {
            await write(watch.changed(await collect<ShownSummary>(asker, { ...request, limit: WATCHED })))
            progress.clear()
          } catch (error) {
            if (!(error instanceof PassingFailure)) throw error
            progress.say(`spoor: ${(error as Error).message}`)
          }
        }
      })
    })
  }
})
