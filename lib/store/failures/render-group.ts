import type { FailingStep, GroupedFailures } from '../../trace/failures/failure-groups.ts'
import { startOf } from '../../trace/failures/step-failure.ts'
import { plain, text } from '../answers/json-text.ts'

/** Maximum number of characters of an example's message. */
const MOST_MESSAGE = 1000

/** Renders a group of failures for a response. */
export function renderGroup({ name, kind, type, pattern, count, passedOn, traces, ...rest }: GroupedFailures): string {
  const { first, last, example } = rest
  const message = example.message === null ? null : startOf(example.message, MOST_MESSAGE)
  return (
    `{"name":${text(name)},"kind":"${kind}","type":${text(type)},"message":${text(pattern)},"count":${count}` +
    `,"passedOn":${passedOn},"traces":${traces.size},"firstSeen":"${first}","lastSeen":"${last}"` +
    `,"example":{"traceId":"${example.traceId}","spanId":${plain(example.spanId)},"message":${text(message)}}}`
  )
}

/** Renders the failures of a step for a response. */
export const renderStep = ({ kind, name, count, passedOn, traces }: FailingStep): string =>
  `{"name":${text(name)},"kind":"${kind}","count":${count},"passedOn":${passedOn},"traces":${traces.size}}`
