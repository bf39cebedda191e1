/** The second line of a row: the first error, and the first words of input and output or an excerpt with matches. */
import type { Excerpt, TraceMatch } from '../contract.ts'
import { Icon } from '../ui/controls.tsx'
import { asLine } from '../ui/text.ts'

const MOST = { error: 200, text: 160 }

export const hasPreview = ({ firstError, inputPreview, outputPreview, excerpt }: TraceMatch): boolean =>
  [firstError, inputPreview, outputPreview, excerpt].some(each => each !== null)

export function RowPreviews({ trace: { firstError, inputPreview, outputPreview, excerpt } }: { trace: TraceMatch }) {
  return (
    <>
      {firstError !== null && (
        <div class="clip is-error">
          <Icon name="error" /> {asLine(firstError.step, 60)}
          {reasonOf(firstError)}
        </div>
      )}
      {excerpt !== null ? (
        <div>
          <Label text={excerpt.place} />
          {markedText(excerpt)}
        </div>
      ) : (
        <div class="previews">
          {inputPreview !== null && (
            <span class="clip">
              <Label text="in" />
              <bdi>{asLine(inputPreview, MOST.text)}</bdi>
            </span>
          )}
          {outputPreview !== null && (
            <span class="clip">
              <Label text="out" />
              <bdi>{asLine(outputPreview, MOST.text)}</bdi>
            </span>
          )}
        </div>
      )}
    </>
  )
}

const Label = ({ text }: { text: string }) => <span class="preview-side">{text}</span>

function reasonOf({ type, message }: NonNullable<TraceMatch['firstError']>): string {
  const parts = [type, message].filter(each => each !== null)
  return parts.length === 0 ? ' failed' : `: ${asLine(parts.join(': '), MOST.error)}`
}

function markedText({ text, marks }: Excerpt) {
  let at = 0
  const pieces = marks.map(([start, end]) => {
    const before = text.slice(at, start)
    at = end!
    return [before, <mark key={start}>{text.slice(start, end)}</mark>]
  })
  return [pieces, text.slice(at)]
}
