/** Formats the results of the reads benchmark as Markdown. */
import { describeMachine, round, table } from '../report.ts'
import type { CaseResult, DetailResult, ReadsResults } from './reads.ts'

/** Returns a line for each case, with the largest size and its ratio to the smallest size. */
export function renderReads({ machine, requests, sizes, details }: ReadsResults): string {
  const [smallest, largest] = [sizes[0]!, sizes.at(-1)!]
  const head = sizes.flatMap(({ traces }) => [`${amount(traces)}: p50 ms`, 'p99 ms', '32 conn.: p50 ms', 'p99 ms'])
  const lines = largest.cases.map(({ name, rows, one, many }, i) => {
    const least = smallest.cases[i]!
    const isAlike = rows === least.rows
    return [
      name,
      isAlike ? String(rows ?? '') : `${least.rows} to ${rows}`,
      ...sizes.flatMap(({ cases }) => times(cases[i]!)),
      isAlike ? `**${(one.p50 / least.one.p50).toFixed(2)}**` : '',
      ...[one.nodeCpu, one.postgresCpu, many.nodeCpu, many.postgresCpu].map(round)
    ]
  })
  const parts = [
    `${describeMachine(machine)}; ${requests} requests a case.`,
    table(['lists', 'rows', ...head, 'p50, to the smallest', ...CPU, ...CPU.map(name => `32 conn.: ${name}`)], lines)
  ]
  if (details.length > 0) parts.push(detailTable(details))
  return `${parts.join('\n\n')}\n`
}

function detailTable(details: readonly DetailResult[]): string {
  const head = ['details', 'p50 ms', 'p99 ms', '32 conn.: p50 ms', 'p99 ms', 'answers/s', 'of the bare server', ...CPU]
  const lines = details.map(detail => [
    detail.name,
    ...times(detail),
    round(detail.many.perSecond),
    `**${detail.ratio.toFixed(2)}**`,
    ...[detail.one.nodeCpu, detail.one.postgresCpu].map(round)
  ])
  return table(head, lines)
}

const CPU = ['node µs', 'PostgreSQL µs']
const times = ({ one, many }: CaseResult): string[] => [one.p50, one.p99, many.p50, many.p99].map(round)
const amount = (traces: number): string => (traces < 1e6 ? `${traces / 1e3}k` : `${traces / 1e6}M`)
