/** Commands that read traces. */
import { setTimeout } from 'node:timers/promises'
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
import { oneOf } from './conditions.ts'
import { pathFor, readSelection, SELECTION_FLAGS, selected, TRACE_PAGE, TRACES } from './selection.ts'
import { Changes, Watch } from './watch.ts'

/** Default and maximum number of traces that a list shows. */
const USUAL = 50
const MOST = 100_000
export const TRACE_SORTS = ['newest', 'slowest', 'costliest']

export const READ_FLAGS = { ...ASKING_FLAGS, ...OUTPUT_FLAGS }

export const traceList = command({
  summary: 'List traces, newest first',
  flags: {
    ...SELECTION_FLAGS,
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
    const query = { ...readSelection(flags).query, sort: oneOf('sort', flags.sort, TRACE_SORTS) }
    const limit = parseLimit('limit', flags.limit, USUAL, MOST)
    await withAsker(flags, env, asker =>
      printList<ShownSummary>(
        call,
        listPages(asker, { path: pathFor(query), query, member: 'traces', limit, pageSize: TRACE_PAGE }),
        (traces, end) =>
          listLines({ columns: TRACE_TABLE, rows: traces, width: screen.columns }, end, {
            ...{ nouns: 'traces', limit, most: MOST }
          })
      )
    )
  }
})

export const traceShow = command({
  summary: 'Show a trace: its failed step, then all steps as a tree',
  parameters: ['TRACE'],
  flags: {
    texts: { type: 'boolean', about: 'also show inputs, outputs, attributes and events' },
    ...READ_FLAGS
  },
  details: 'With --json, the output is the response from GET /api/v1/traces/{traceId}.',
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
/** Maximum number of traces that are shown first. */
const MOST_FIRST = 5 * TRACE_PAGE

export const traceTail = command({
  summary: 'Show the newest traces; with -f, also new traces as they arrive',
  flags: {
    follow: { type: 'boolean', short: 'f', about: 'keep showing new traces until you press Ctrl-C' },
    ...SELECTION_FLAGS,
    limit: { type: 'string', value: 'N', about: `the number of traces to show first; ${TAIL_USUAL} by default` },
    ...READ_FLAGS
  },
  details: [
    'With -f, each trace is shown when it is recorded and again when it finishes, regardless of when it started. The',
    'command checks for new writes every two seconds.'
  ].join('\n'),
  examples: ['trace tail -f', 'trace tail -f --errors --environment production', 'trace tail --ndjson --limit 100'],
  async run(call) {
    const { flags, env, json, screen, stream, progress } = call
    // Loaded here because --help does not need this module.
    const { stringifyExact } = await import('../../../lib/trace/json/exact-json.ts')
    if (json && flags.follow) throw new UsageError('--follow never ends: use --ndjson instead of --json')
    const selection = readSelection(flags)
    const { query } = selection
    const limit = parseLimit('limit', flags.limit, TAIL_USUAL, MOST_FIRST)
    const request = { path: pathFor(query), query, member: 'traces', limit, pageSize: TRACE_PAGE }
    await withAsker(flags, env, async asker => {
      // The cursor for changes is taken before the list is read, so that no change in between is missed.
      const changes = flags.follow ? await Changes.sinceNow(asker) : undefined
      const first = (await collect<ShownSummary>(asker, request)).reverse()
      const write = async (traces: readonly ShownSummary[]) => {
        if (flags.ndjson) await stream(traces.map(trace => jsonLine(stringifyExact(trace))).join(''))
        else await screen.write(traces.map(trace => tailLine(trace, screen.columns)))
      }
      if (json) await stream(jsonLine(stringifyExact(first)))
      else await write(first)
      if (changes === undefined) return
      await interruptible(async signal => {
        const watch = new Watch(first)
        while (!signal.aborted) {
          await setTimeout(POLL_MS, undefined, { signal }).catch(() => {})
          if (signal.aborted) break
          try {
            for await (const page of changes.read()) {
              await write(watch.changed(await selected(asker, page, selection)))
              if (signal.aborted) break
            }
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
