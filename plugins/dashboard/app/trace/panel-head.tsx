/** Names the selected span or trace, with its numbers. */
import type { Body } from '../content/bodies.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { StatusIcon } from '../ui/controls.tsx'
import { Moment } from '../ui/facts.tsx'
import { formatCost, formatCount, formatDuration, knowsParts } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { clockTime, type Zone } from '../ui/time.ts'
import { firstTokenMs, tokenParts } from './call-facts.ts'

interface Props {
  readonly outline: Outline
  readonly span: OutlineSpan | undefined
  readonly body: Body | undefined
  readonly zone: Zone
}

export function PanelHead({ outline, span, body, zone }: Props) {
  const shown = span ?? outline.trace
  const firstToken = body === undefined ? undefined : firstTokenMs(body.text, body.attributes)
  const facts = [
    shown.durationMs === null ? undefined : formatDuration(shown.durationMs),
    firstToken === undefined ? undefined : `first token after ${formatDuration(firstToken)}`,
    shown.model === null ? undefined : asLine(shown.model, 60),
    shown.provider === null ? undefined : asLine(shown.provider, 60),
    tokensOf(shown.usage, span?.tokenDetails ?? null),
    shown.costUsd === null ? undefined : formatCost(shown.costUsd)
  ].filter(fact => fact !== undefined)
  return (
    <header class="panel-head">
      <h2>
        <span class="clip" title={shown.name}>
          {asLine(shown.name, 200)}
        </span>
        <span class={`kind is-${span?.kind ?? 'trace'}`}>{span?.kind ?? 'trace'}</span>
        <StatusIcon status={shown.status} />
      </h2>
      <p class="facts">
        {facts.map(fact => (
          <span key={fact}>{fact}</span>
        ))}
        {span?.computedCost && <span class="soft">{describeComputed(span.computedCost)}</span>}
        <Moment iso={shown.startedAt} zone={zone} text={clockTime(shown.startedAt, zone, true)} />
      </p>
    </header>
  )
}

function tokensOf(usage: Outline['trace']['usage'] | null, details: OutlineSpan['tokenDetails']): string | undefined {
  if (usage === null || usage.totalTokens === 0) return undefined
  const parts = tokenParts(details, formatCount)
  const within = (part: string) => (part === '' ? '' : ` (${part})`)
  if (!knowsParts(usage)) return `${formatCount(usage.totalTokens)} tokens`
  const input = `${formatCount(usage.inputTokens)} in${within(parts.input)}`
  return `${input}, ${formatCount(usage.outputTokens)} out${within(parts.output)}`
}

function describeComputed({ model, prices }: NonNullable<OutlineSpan['computedCost']>): string {
  const of = prices === 'own' ? 'your prices' : `prices of ${prices}`
  return `computed from tokens, ${of} for ${asLine(model, 60)}`
}
