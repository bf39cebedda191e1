/** Shown for an empty list: how to record a first trace, or why the list is empty. */

import { serverAddress } from '../state/place.ts'
import { copy } from '../state/toasts.ts'
import { Icon } from '../ui/icons.tsx'
import { curlOfFirstTrace, otlpVariables } from './first-trace.ts'

export function NoTraces({ slug, keys }: { slug: string; keys: string }) {
  const address = serverAddress()
  return (
    <div class="empty">
      <h2>No trace yet</h2>
      <p>
        Record one with a key of this project (<a href={keys}>make one here</a>). It appears by itself.
      </p>
      <Code text={curlOfFirstTrace(address, new Date())} />
      <p>Applications that send OpenTelemetry need no code for it, only where and with which key:</p>
      <Code text={otlpVariables(address)} />
      <p>
        The <a href="../docs">guide</a> has more, for TypeScript, Python and others. Where the server runs,{' '}
        <code>spoor demo --project {slug}</code> records examples.
      </p>
    </div>
  )
}

function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <button type="button" onClick={() => copy(text, 'Command')}>
        <Icon name="copy" /> Copy
      </button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}

export function NoneLeft({ clear }: { clear(): void }) {
  return (
    <div class="empty">
      <h2>No trace is like this</h2>
      <p>
        <button type="button" onClick={clear}>
          Clear the filters
        </button>
      </p>
    </div>
  )
}
