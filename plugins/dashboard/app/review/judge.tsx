/** Shows the traces of a queue and records a verdict on each. */

import type { TargetedKeyboardEvent } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { at, errorMessageOf, write } from '../state/api.ts'
import { useKeys } from '../state/keys.ts'
import { prefer } from '../state/preferences.ts'
import { pathOf } from '../state/route.ts'
import { boundsOf, readScoreValue, type ScoreInputValue, type ScoreKind } from '../state/score-kinds.ts'
import { tell } from '../state/toasts.ts'
import { Button } from '../ui/controls.tsx'
import { formatCounted, formatScore } from '../ui/format.ts'
import { Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import {
  backward,
  lastJudged,
  openTraces,
  progressOf,
  type ReviewQueue,
  reviewSummaryOf,
  shownTrace,
  withOthers,
  withoutLast,
  withoutVerdict,
  withShown,
  withSkippedAgain,
  withVerdict
} from './queue.ts'
import { ReviewedTrace } from './trace-texts.tsx'

/** Number of traces among which the server looks for one that nobody else is judging. */
const CANDIDATES = 100

/** Leases the first of these traces that nobody else is judging or has judged. */
export type ClaimTrace = (
  traceIds: readonly string[]
) => Promise<{ readonly traceId: string | null; readonly judged: readonly string[] }>

const NUMBER_STARTS = '0123456789-.,'

/** Leases are renewed well before they end (lib/store/projects/review-leases.ts). */
const RENEW_MS = 4 * 60_000

interface Props {
  readonly slug: string
  readonly kind: ScoreKind
  readonly start: ReviewQueue
  /** Whether more traces match than the queue has. */
  readonly isMore: boolean
  readonly claim: ClaimTrace
}

export function Judge({ slug, kind, start, isMore, claim }: Props) {
  const [queue, setQueue] = useState(start)
  const [busy, setBusy] = useState(false)
  const [comment, setComment] = useState('')
  const [typed, setTyped] = useState('')
  const [fault, setFault] = useState('')
  const [isDone, setDone] = useState(false)
  const field = useRef<HTMLTextAreaElement>(null)
  const valueField = useRef<HTMLInputElement>(null)
  const queueBox = useRef<HTMLElement>(null)
  const shown = shownTrace(queue)
  const isNumber = kind.dataType === 'numeric'
  // Each trace starts with the focus on the trace, where keys are shortcuts. The field of a text keeps the focus,
  // because letters that are typed early would be shortcuts too.
  useLayoutEffect(() => {
    if (isNumber || document.activeElement !== valueField.current) queueBox.current?.focus({ preventScroll: true })
    scrollTo(0, 0)
  }, [shown])
  useEffect(() => {
    if (shown === undefined) return
    const timer = setInterval(() => claim([shown]).catch(() => {}), RENEW_MS)
    return () => clearInterval(timer)
  }, [shown])

  /** Shows the next trace, which may need a lease. */
  const settle = async (next: ReviewQueue) => {
    let now = next
    while (shownTrace(now) === undefined) {
      const candidates = openTraces(now).slice(0, CANDIDATES)
      if (candidates.length === 0) break
      const { traceId, judged } = await claim(candidates)
      now = withOthers(now, judged)
      now = traceId === null ? withOthers(now, candidates) : withShown(now, traceId)
    }
    setQueue(now)
    setDone(shownTrace(now) === undefined)
    setTyped('')
    setFault('')
  }
  const doing = async (act: () => Promise<void>) => {
    if (busy) return
    setBusy(true)
    try {
      await act()
    } catch (error) {
      tell(errorMessageOf(error), true)
    }
    setBusy(false)
  }
  useEffect(() => void doing(() => settle(start)), [])

  const remove = (traceId: string, scoreId: string) =>
    write('DELETE', at('p/:slug/traces/:traceId/scores/:scoreId', { slug, traceId, scoreId }))
  const give = (value: ScoreInputValue) =>
    doing(async () => {
      if (shown === undefined) return
      const body = {
        name: kind.name,
        dataType: kind.dataType,
        value,
        ...(comment.trim() !== '' && { comment: comment.trim() })
      }
      const before = queue.verdicts.get(shown)
      const { score } = await write('POST', at('p/:slug/traces/:traceId/scores', { slug, traceId: shown }), { body })
      if (before !== undefined) await remove(shown, before.scoreId)
      prefer({ scoreName: kind.name })
      setComment('')
      await settle(withVerdict(queue, shown, { scoreId: score.id, value }))
    })
  const skip = () => doing(() => settle(withoutVerdict(queue)))
  const back = () =>
    doing(async () => {
      setQueue(backward(queue))
      setDone(false)
    })
  const undo = () =>
    doing(async () => {
      const id = lastJudged(queue)
      if (id === undefined) return
      await remove(id, queue.verdicts.get(id)!.scoreId)
      setDone(false)
      setQueue(withoutLast(queue, id))
      tell('Score removed')
    })
  const save = (event: Event) => {
    event.preventDefault()
    try {
      void give(readScoreValue(kind, typed))
    } catch (error) {
      setFault(errorMessageOf(error))
    }
  }
  const type = (text: string) => {
    valueField.current?.focus()
    setTyped(typed + text)
  }
  // Outside the field, the first key of a number starts a new value in the field.
  const typedKeys = {
    v: () => type(''),
    ...(isNumber && Object.fromEntries([...NUMBER_STARTS].map(key => [key, () => type(key)])))
  }
  useKeys({
    ...(isDone ? {} : Object.fromEntries(kind.choices.map(({ key, value }) => [key, () => void give(value)]))),
    j: () => void skip(),
    ArrowRight: () => void skip(),
    k: () => void back(),
    ArrowLeft: () => void back(),
    u: () => void undo(),
    m: () => field.current?.focus(),
    ...(kind.choices.length === 0 && typedKeys),
    ...(isDone && { r: () => void doing(() => settle(withSkippedAgain(queue))) })
  })
  const { done, total } = progressOf(queue)
  const given = shown === undefined ? undefined : queue.verdicts.get(shown)
  return (
    <>
      <div class="review-progress">
        <progress value={done} max={total} aria-label="Review progress" />
        <span role="status">
          {isDone ? `${done} of ${total} done` : `${Math.min(done + 1, total)} of ${total}`}
          {isMore && ' (more traces match)'}
        </span>
      </div>
      {isDone ? (
        <Summary
          slug={slug}
          kind={kind}
          queue={queue}
          retry={() => void doing(() => settle(withSkippedAgain(queue)))}
        />
      ) : shown === undefined ? (
        <Waiting what="the next trace" />
      ) : (
        <>
          <section ref={queueBox} class="review-queue" tabIndex={-1} aria-label="Trace to review">
            <ReviewedTrace key={shown} slug={slug} traceId={shown} />
          </section>
          <form class="verdict" aria-label="Verdict" onSubmit={save}>
            <p>
              <b>{kind.name}</b> {kind.description !== '' && asLine(kind.description, 300)}
              {given !== undefined && <span class="soft"> Your score: {formatScore(given.value)}.</span>}
            </p>
            {kind.choices.length === 0 ? (
              <div class="joined">
                <input
                  ref={valueField}
                  aria-label={`Value of ${kind.name}`}
                  aria-invalid={fault !== ''}
                  placeholder={boundsOf(kind)}
                  title="Press Enter to save, or Esc to leave the field."
                  autocomplete="off"
                  inputMode={kind.dataType === 'numeric' ? 'decimal' : undefined}
                  maxLength={kind.dataType === 'categorical' ? 200 : 40}
                  value={typed}
                  onInput={event => {
                    setTyped(event.currentTarget.value)
                    setFault('')
                  }}
                  onKeyDown={leaveOnEscape}
                />
                <button type="submit" class="main">
                  Save
                </button>
              </div>
            ) : (
              <p class="verdict-choices">
                {kind.choices.map(({ key, label, value }) => (
                  <button
                    key={key}
                    type="button"
                    aria-pressed={given?.value === value}
                    onClick={() => void give(value)}
                  >
                    <kbd>{key}</kbd> {asLine(label, 60)}
                  </button>
                ))}
              </p>
            )}
            {fault !== '' && (
              <p class="fault" role="alert">
                {fault}
              </p>
            )}
            <textarea
              ref={field}
              rows={1}
              maxLength={2000}
              aria-label="Comment"
              placeholder="Optional comment, saved with the score. Press Esc to leave the field."
              value={comment}
              onInput={event => setComment(event.currentTarget.value)}
              onKeyDown={leaveOnEscape}
            />
            <p class="verdict-more">
              <Button onClick={back}>
                <kbd>k</kbd> Previous
              </Button>
              <Button onClick={skip}>
                <kbd>j</kbd> {given === undefined ? 'Skip' : 'Next'}
              </Button>
              <Button onClick={undo}>
                <kbd>u</kbd> Undo
              </Button>
              {kind.choices.length === 0 && (
                <Button onClick={() => valueField.current?.focus()}>
                  <kbd>v</kbd> Value
                </Button>
              )}
              <Button onClick={() => field.current?.focus()}>
                <kbd>m</kbd> Comment
              </Button>
            </p>
          </form>
        </>
      )}
    </>
  )
}

function leaveOnEscape(event: TargetedKeyboardEvent<HTMLElement>) {
  if (event.key === 'Escape') event.currentTarget.blur()
}

interface SummaryProps {
  readonly slug: string
  readonly kind: ScoreKind
  readonly queue: ReviewQueue
  retry(): void
}

function Summary({ slug, kind, queue, retry }: SummaryProps) {
  const { judged, skipped, others, counts, mean } = reviewSummaryOf(queue)
  return (
    <section class="review-summary">
      <h2>Review complete</h2>
      <p>
        You scored {formatCounted(judged, 'trace')}
        {skipped > 0 && `, skipped ${skipped}`}
        {others > 0 && `; ${others} went to other reviewers`}.
      </p>
      {counts.length > 0 && (
        <table class="plain-table">
          <thead>
            <tr>
              <th scope="col">{kind.name}</th>
              <th scope="col">Traces</th>
            </tr>
          </thead>
          <tbody>
            {counts.map(({ value, count }) => (
              <tr key={String(value)}>
                <td>{asLine(formatScore(value), 200)}</td>
                <td data-title="Traces">{count}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
      {mean !== undefined && <p>Mean {formatScore(Math.round(mean * 100) / 100)}</p>}
      <p>
        {skipped > 0 && (
          <Button onClick={retry}>
            <kbd>r</kbd> Review the skipped traces
          </Button>
        )}{' '}
        <a href={`${pathOf({ page: 'scores', slug })}?name=${encodeURIComponent(kind.name)}`}>All scores</a>{' '}
        <a href={pathOf({ page: 'traces', slug })}>Traces</a>
      </p>
      <p class="soft">
        <kbd>u</kbd> removes your last score.
      </p>
    </section>
  )
}
