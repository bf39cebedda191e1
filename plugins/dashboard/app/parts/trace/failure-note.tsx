/** Why the span failed, above all else that was recorded of it. */
import { failureOf } from '../../lib/failure.ts'
import { asLine, cut } from '../../lib/text.ts'
import type { Body } from '../../state/trace/bodies.ts'
import { Icon } from '../icons.tsx'
import { Plain } from './text.tsx'

/** Traces of calls can have any length: the whole of it is under Events. */
const MOST = 2000

export function FailureNote({ body }: { body: Body }) {
  const failure = failureOf(body.text, body.attributes, body.events)
  if (failure === undefined) return null
  const { type, message } = failure
  return (
    <div class="failure" role="note" aria-label="Why it failed">
      <Icon name="error" />
      <p>
        {type !== '' && <b>{asLine(type, 120)}</b>}
        {type !== '' && message !== '' && ': '}
        <Plain text={cut(message, MOST)} />
        {message.length > MOST && '…'}
      </p>
    </div>
  )
}
