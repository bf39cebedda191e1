import type { ComponentChildren } from 'preact'
import type { Group } from '../contract.ts'
import { Day, Fact, Moment } from '../ui/facts.tsx'
import { formatCost, formatCount } from '../ui/format.ts'
import type { Zone } from '../ui/time.ts'

interface Props {
  readonly sums: Omit<Group, 'isMore'>
  readonly running?: number
  /** Whether only the day of the first trace is known, not its time. */
  readonly byDay?: boolean
  readonly zone: Zone
  readonly now: Date
  readonly children?: ComponentChildren
}

export function GroupFacts({ sums, running = 0, byDay = false, zone, now, children }: Props) {
  const { traces, errors, inputTokens, outputTokens, costUsd, firstAt, lastAt } = sums
  return (
    <dl class="trace-facts">
      <Fact name="Traces">
        {formatCount(traces)} {running > 0 && <small>{formatCount(running)} running</small>}
      </Fact>
      <Fact name="Errors">
        <span class={errors > 0 ? 'is-error' : ''}>{formatCount(errors)}</span>
      </Fact>
      <Fact name="Tokens">
        {formatCount(inputTokens + outputTokens)}{' '}
        {inputTokens + outputTokens > 0 && (
          <small>
            {formatCount(inputTokens)} in, {formatCount(outputTokens)} out
          </small>
        )}
      </Fact>
      <Fact name="Cost">{formatCost(costUsd)}</Fact>
      <Fact name="First">{byDay ? <Day iso={firstAt} /> : <Moment iso={firstAt} zone={zone} now={now} />}</Fact>
      <Fact name="Last">
        <Moment iso={lastAt} zone={zone} now={now} />
      </Fact>
      {children}
    </dl>
  )
}
