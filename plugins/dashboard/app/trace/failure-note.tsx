/** Shows why a span failed, above everything else recorded for it. */

import type { Body } from '../content/bodies.ts'
import { Plain } from '../content/text-view.tsx'
import { Icon } from '../ui/icons.tsx'
import { asLine, cut } from '../ui/text.ts'
import { failureOf } from './failure.ts'

/** Maximum length shown. Stack traces can have any length, and Events shows them in full. */
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
