import type { ComponentChildren } from 'preact'
import type { TraceListItem } from '../contract.ts'
import { pathOf } from '../state/route.ts'
import { StatusIcon } from './controls.tsx'
import { Moment } from './facts.tsx'
import { formatCost, formatCount, formatDuration, NONE } from './format.ts'
import { LinkedRows, numbers } from './table.tsx'
import { asLine } from './text.ts'
import type { Zone } from './time.ts'

export interface TraceRow {
  readonly key: string
  readonly trace: TraceListItem
  readonly cells?: readonly ComponentChildren[]
}

interface Props {
  readonly slug: string
  readonly label: string
  readonly titles?: readonly string[]
  readonly rows: readonly TraceRow[]
  readonly zone: Zone
}

export function TraceRowList({ slug, label, titles = [], rows, zone }: Props) {
  const now = new Date()
  return (
    <LinkedRows
      label={label}
      titles={['Name', 'Status', ...titles, 'Started', ...numbers('Duration', 'Tokens', 'Cost')]}
    >
      {rows.map(({ key, trace, cells = [] }) => (
        <tr key={key}>
          <td class="of-name">
            <a id={`r-${key}`} class="open" href={pathOf({ page: 'trace', slug, traceId: trace.id })}>
              {asLine(trace.name, 120)}
            </a>
          </td>
          <td class="of-status">
            <StatusIcon status={trace.status} />
          </td>
          {titles.map((title, i) => (
            <td key={title} data-label={title} class={title.startsWith('Score') ? 'of-scores' : ''}>
              {cells[i]}
            </td>
          ))}
          <td class="of-started">
            <Moment iso={trace.startedAt} zone={zone} now={now} />
          </td>
          <td class="number" data-label="Duration">
            {formatDuration(trace.durationMs)}
          </td>
          <td class="number" data-label="Tokens">
            {trace.status === 'running' ? NONE : formatCount(trace.usage.totalTokens)}
          </td>
          <td class="number" data-label="Cost">
            {formatCost(trace.costUsd)}
          </td>
        </tr>
      ))}
    </LinkedRows>
  )
}
