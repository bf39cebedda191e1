/** What traces add up to, at the head of a page. */
import type { ComponentChildren } from 'preact'
import type { Group } from '../sessions/groups.ts'
import { dayName, fullTime, shortTime, type Zone } from '../state/time.ts'
import { formatCost, formatCount } from './format.ts'

export function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  )
}

export function Moment({ iso, zone, now }: { iso: string; zone: Zone; now: Date }) {
  return (
    <time dateTime={iso} title={fullTime(iso, zone)}>
      {shortTime(iso, zone, now)}
    </time>
  )
}

/** A day, where no time is known. Days are UTC. */
export function Day({ iso }: { iso: string }) {
  return (
    <time dateTime={iso.slice(0, 10)} title={`${iso.slice(0, 10)}, UTC`}>
      {dayName(iso)}
    </time>
  )
}

interface Props {
  readonly sums: Group
  readonly running?: number
  /** Of the first trace the day alone is known. */
  readonly byDay?: boolean
  readonly zone: Zone
  readonly now: Date
  readonly children?: ComponentChildren
}

export function Facts({ sums, running = 0, byDay = false, zone, now, children }: Props) {
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
