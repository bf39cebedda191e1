import { ApiError, errorMessageOf } from '../state/api.ts'
import { copy } from '../state/toasts.ts'
import { Button } from './controls.tsx'

export function Problem({ error, again }: { error: unknown; again?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : undefined
  return (
    <div class="problem" role="alert">
      <p>{errorMessageOf(error)}</p>
      <p class="buttons">
        {again && <Button onClick={again}>Try again</Button>}
        {requestId !== undefined && (
          <button
            type="button"
            class="plain soft"
            title="Copy the request ID"
            onClick={() => copy(requestId, 'Request ID')}
          >
            request <code>{requestId}</code>
          </button>
        )}
      </p>
    </div>
  )
}

interface PendingProps {
  readonly of: { readonly value?: unknown; readonly error: unknown; again(): void }
  readonly what: string
}

/** Shows a loading error or, until something is loaded, a loading message. */
export function Pending({ of: { value, error, again }, what }: PendingProps) {
  if (error !== undefined) return <Problem error={error} again={again} />
  return value === undefined ? <Waiting what={what} /> : null
}

/** Shows that something is loading. Styles delay the message, so that fast responses never show it. */
export function Waiting({ what }: { what: string }) {
  return (
    <p class="waiting" role="status">
      Loading {what}…
    </p>
  )
}
