/** A list without traces: how the first one is recorded, or why there is none. */
import { serverAddress } from '../../state/place.ts'
import { copy } from '../../state/toasts.ts'
import { Icon } from '../icons.tsx'

const curl = (address: string, at: string) => `curl ${address}/api/v1/traces \\
  -H "Authorization: Bearer $SPOOR_KEY" \\
  -H "Content-Type: application/json" \\
  -d '{"schemaVersion": 1, "trace": {
    "id": "'$(openssl rand -hex 16)'", "name": "first trace", "status": "ok",
    "startedAt": "${at}", "endedAt": "${at}",
    "input": "What is the capital of France?", "output": "Paris."}}'`

export function NoTraces({ keys }: { keys: string }) {
  const text = curl(serverAddress(), new Date().toISOString())
  return (
    <div class="empty">
      <h2>No trace yet</h2>
      <p>
        Record one with a key of this project (<a href={keys}>make one here</a>). It appears by itself.
      </p>
      <div class="code">
        <button type="button" onClick={() => copy(text, 'Command')}>
          <Icon name="copy" /> Copy
        </button>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
        <pre tabIndex={0}>{text}</pre>
      </div>
      <p>
        Applications that send OpenTelemetry need the address alone:{' '}
        <code>OTEL_EXPORTER_OTLP_ENDPOINT={serverAddress()}</code> and the key as{' '}
        <code>OTEL_EXPORTER_OTLP_HEADERS="Authorization=Bearer%20$SPOOR_KEY"</code>. The <a href="../docs">guide</a> has
        more, for TypeScript and others.
      </p>
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
