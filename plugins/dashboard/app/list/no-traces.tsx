/** How to record a first trace, shown for a project without traces. */
import { serverAddress } from '../state/navigation.ts'
import { copy } from '../state/toasts.ts'
import { Button, Icon } from '../ui/controls.tsx'
import { curlOfFirstTrace, otlpVariables } from './first-trace.ts'

export function NoTraces({ slug, keys }: { slug: string; keys: string }) {
  const address = serverAddress()
  return (
    <div class="empty">
      <h2>No traces yet</h2>
      <p>
        Record one with a key for this project (<a href={keys}>create a key</a>). It appears here right away.
      </p>
      <Code text={curlOfFirstTrace(address, new Date())} />
      <p>Applications that use OpenTelemetry need no code, only the endpoint and a key:</p>
      <Code text={otlpVariables(address)} />
      <p>
        The <a href="../docs">guide</a> covers TypeScript, Python and more. On the server,{' '}
        <code>spoor demo --project {slug}</code> records examples.
      </p>
    </div>
  )
}

function Code({ text }: { text: string }) {
  return (
    <div class="code">
      <Button onClick={() => copy(text, 'Command')}>
        <Icon name="copy" /> Copy
      </Button>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
      <pre tabIndex={0}>{text}</pre>
    </div>
  )
}
