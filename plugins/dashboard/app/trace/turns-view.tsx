/** The trace as turns: each prompt with the actions that it led to and the answer. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { loadBody, pathOfBody } from '../content/bodies.ts'
import { parseExactly, sourceOf } from '../content/json-text.ts'
import { TRACE_ROW } from '../content/span-tree.ts'
import { answerOf, promptOf } from '../content/step-preview.ts'
import { Plain } from '../content/text-view.tsx'
import type { Outline } from '../contract.ts'
import { useLoad } from '../state/load.ts'
import { Icon, MoreButton } from '../ui/controls.tsx'
import { formatCount, formatCounted, formatDuration } from '../ui/format.ts'
import { Offscreen } from '../ui/offscreen.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import { StepMarks } from './marks.tsx'
import { Previews } from './previews.tsx'
import type { RowMark } from './step-marks.ts'
import { stepsOfTurns, type TraceWords, type Turn, type TurnStep, turnsOf } from './turns.ts'

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly marks: ReadonlyMap<string, RowMark>
  select(key: string): void
}

/** Number of steps whose texts are loaded at first, and with each press of the button. */
const PORTION = 100
const TURN_PX = 220

export function TurnsView({ slug, outline, selected, hits, marks, select }: Props) {
  const traceId = outline.trace.id
  const previews = useMemo(() => new Previews({ slug, traceId }, 'long'), [slug, traceId])
  const steps = useMemo(() => stepsOfTurns(outline.spans), [outline.spans])
  const [most, setMost] = useState(PORTION)
  const [loaded, setLoaded] = useState(0)
  const [error, setError] = useState<unknown>()
  const wanted = Math.min(most, steps.length)
  const load = () => {
    setError(undefined)
    const ids = steps.slice(0, wanted).map(({ id }) => id)
    previews.read(ids).then(() => setLoaded(wanted), setError)
  }
  useEffect(load, [previews, steps, wanted])
  const isWhole = loaded === steps.length
  const path = pathOfBody(slug, traceId, TRACE_ROW)
  const { value: words } = useLoad(`words ${path}@${outline.version}`, () => readWords(path, outline.version))
  const turns = useMemo(() => {
    // Only the last turn of all may take the trace's answer.
    const trace = words === undefined ? undefined : { ...words, answer: isWhole ? words.answer : '' }
    return turnsOf(steps.slice(0, loaded), id => previews.get(id), trace)
  }, [steps, loaded, words])
  if (steps.length === 0) {
    return <p class="soft turns-none">This trace has no model calls and no tool calls.</p>
  }
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard.
    <section class="rows turns" id="spans" tabIndex={0} aria-label="Turns">
      {turns.map((turn, i) => (
        <Offscreen key={turn.key} {...(i > 5 && { estimate: TURN_PX })}>
          <TurnView turn={turn} number={i + 1} selected={selected} hits={hits} marks={marks} select={select} />
        </Offscreen>
      ))}
      {error !== undefined ? (
        <Problem error={error} again={load} />
      ) : loaded < wanted ? (
        <Waiting what="the turns" />
      ) : (
        wanted < steps.length && (
          <MoreButton onClick={() => setMost(most + PORTION)}>
            Show more ({formatCounted(steps.length - wanted, 'step')} left)
          </MoreButton>
        )
      )}
    </section>
  )
}

async function readWords(path: string, version: string): Promise<TraceWords> {
  const body = await loadBody(path, version)
  const parsed = (half: 'input' | 'output') =>
    body[half] === undefined ? undefined : parseExactly(sourceOf(body.text, body[half]))
  return { prompt: promptOf(parsed('input')), answer: answerOf(parsed('output')) }
}

interface TurnProps extends Omit<Props, 'slug' | 'outline'> {
  readonly turn: Turn
  readonly number: number
}

function TurnView({ turn, number, selected, hits, marks, select }: TurnProps) {
  const { key, prompt, actions, answer } = turn
  const failures = actions.filter(({ span }) => span.status === 'error').length
  const calls = actions.filter(({ span }) => span.kind === 'tool' || span.kind === 'retriever').length
  const step = (id: string) =>
    `plain turn-step ${id === selected ? 'is-selected' : ''} ${hits !== undefined && !hits.has(id) ? 'is-dim' : ''}`
  return (
    <article class="turn" aria-label={`Turn ${number}`}>
      <p class="turn-head">
        <b>Turn {formatCount(number)}</b>
        <span class="soft">
          {formatCounted(calls, 'action')}
          {failures > 0 && <span class="is-error">, {formatCounted(failures, 'failure')}</span>}
          {actions.length > 0 && `, ${formatDuration(timeOf(actions))}`}
        </span>
      </p>
      {prompt !== '' && (
        <button
          type="button"
          class={`${step(key)} turn-prompt`}
          aria-pressed={key === selected}
          onClick={() => select(key)}
        >
          <span class="turn-text" dir="auto">
            <Plain text={prompt} />
          </span>
        </button>
      )}
      {actions.map(action => (
        <Action
          key={action.span.id}
          step={action}
          class={step(action.span.id)}
          mark={marks.get(action.span.id)}
          selected={selected}
          select={select}
        />
      ))}
      {answer !== undefined && (
        <button
          type="button"
          class={`${step(answer.key)} turn-answer`}
          aria-pressed={answer.key === selected}
          onClick={() => select(answer.key)}
        >
          <span class="turn-text" dir="auto">
            <Plain text={answer.text} />
          </span>
        </button>
      )}
    </article>
  )
}

interface ActionProps {
  readonly step: TurnStep
  readonly class: string
  readonly mark: RowMark | undefined
  readonly selected: string
  select(key: string): void
}

function Action({ step: { span, text, error }, mark, selected, select, ...props }: ActionProps) {
  const isFailed = span.status === 'error'
  return (
    <button
      type="button"
      class={`${props.class} turn-action`}
      aria-pressed={span.id === selected}
      onClick={() => select(span.id)}
    >
      {isFailed && <Icon name="error" class="is-error" />}
      <b>{asLine(span.name, 60)}</b>
      <StepMarks mark={mark} />
      <span class={`clip ${error === '' ? 'soft' : 'is-error'}`}>{asLine(error === '' ? text : error, 300)}</span>
      <span class="row-time">{formatDuration(span.durationMs)}</span>
    </button>
  )
}

/** Returns the time from the first step's start to the last step's end, in ms. */
function timeOf(steps: readonly TurnStep[]): number {
  const starts = steps.map(({ span }) => Date.parse(span.startedAt))
  return Math.max(...steps.map(({ span }) => Date.parse(span.endedAt))) - Math.min(...starts)
}
