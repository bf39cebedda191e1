import type { Group } from '../contract.ts'
import { pathOf } from '../state/route.ts'
import { Day, Moment } from '../ui/facts.tsx'
import { formatCost, formatCount, NONE } from '../ui/format.ts'
import { LinkedRows, numbers } from '../ui/table.tsx'
import { asLine } from '../ui/text.ts'
import type { Zone } from '../ui/time.ts'
import type { GroupKind } from './groups.ts'

interface TableProps {
  readonly slug: string
  readonly kind: GroupKind
  readonly groups: readonly Group[]
  readonly zone: Zone
}

export function GroupTable({ slug, kind, groups, zone }: TableProps) {
  const title = kind === 'sessions' ? 'Sessions' : 'Users'
  const now = new Date()
  const hrefOf = (id: string) =>
    pathOf(kind === 'sessions' ? { page: 'session', slug, sessionId: id } : { page: 'user', slug, userId: id })
  return (
    <LinkedRows
      class="groups"
      label={title}
      titles={[
        title.slice(0, -1),
        ...numbers('Traces', 'Errors', 'Tokens', 'Cost'),
        'First',
        { title: 'Last', is: 'sorted' }
      ]}
    >
      {groups.map(({ id, traces, isMore = false, errors, inputTokens, outputTokens, costUsd, firstAt, lastAt }) => (
        <tr key={id}>
          <td class="of-name">
            <a id={`g-${id}`} class="open" href={hrefOf(id)} title={id}>
              {asLine(id, 80)}
            </a>
          </td>
          <td
            class="number"
            data-label="Traces"
            title={isMore ? `The newest ${formatCount(traces)} are added up` : undefined}
          >
            {formatCount(traces)}
            {isMore && '+'}
          </td>
          <td class="number" data-label="Errors">
            {errors === 0 ? <span class="soft">{NONE}</span> : <span class="is-error">{formatCount(errors)}</span>}
          </td>
          <td class="number" data-label="Tokens">
            {formatCount(inputTokens + outputTokens)}
          </td>
          <td class="number" data-label="Cost">
            {costUsd === null ? <span class="soft">{NONE}</span> : formatCost(costUsd)}
          </td>
          <td data-label="First">
            {kind === 'users' ? <Day iso={firstAt} /> : <Moment iso={firstAt} zone={zone} now={now} />}
          </td>
          <td data-label="Last">
            <Moment iso={lastAt} zone={zone} now={now} />
          </td>
        </tr>
      ))}
    </LinkedRows>
  )
}
