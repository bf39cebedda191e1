/** A step's input and output in both traces, as removed, added and unchanged lines. */

import { type Body, loadBody, pathOfBody, TRACE_ROW } from '../content/bodies.ts'
import { sourceOf } from '../content/json-text.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { useLoad } from '../state/load.ts'
import { pathOf } from '../state/route.ts'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import type { AlignedRow } from './align.ts'
import { DiffView } from './diff-view.tsx'

interface Props {
  readonly slug: string
  readonly a: Outline
  readonly b: Outline
  /** If undefined, the panel compares the whole traces. */
  readonly row: AlignedRow | undefined
}

export function RowPanel({ slug, a, b, row }: Props) {
  const sides = [
    { letter: 'A', outline: a, span: row?.a?.span },
    { letter: 'B', outline: b, span: row?.b?.span }
  ].map(({ letter, outline, span }) => ({
    letter,
    id: row === undefined ? TRACE_ROW : span?.id,
    span,
    outline
  }))
  const key = `${a.trace.id} ${sides[0]!.id} ${b.trace.id} ${sides[1]!.id}`
  const { value, error, again } = useLoad(key, signal =>
    Promise.all(
      sides.map(({ outline: { trace, version }, id }) =>
        id === undefined ? undefined : loadBody(pathOfBody(slug, trace.id, id), id === TRACE_ROW ? version : 0, signal)
      )
    )
  )
  const name = row === undefined ? 'Whole trace' : ((row.a ?? row.b)?.span.name ?? '')
  return (
    <section class="panel" aria-label="Inputs and outputs">
      <div class="panel-head">
        <h2>
          <span class="clip" title={name}>
            {asLine(name, 120)}
          </span>
        </h2>
        <p class="compare-links">
          {sides.map(({ letter, outline, id }) =>
            id === undefined ? (
              <span key={letter}>not in {letter}</span>
            ) : (
              <a
                key={letter}
                href={`${pathOf({ page: 'trace', slug, traceId: outline.trace.id })}${id === TRACE_ROW ? '' : `?span=${id}`}`}
              >
                Open in {letter}
              </a>
            )
          )}
          <ModelChange spans={sides.map(({ span }) => span)} />
        </p>
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard. */}
      <div class="panel-body" id="compared" key={key} tabIndex={0}>
        {error !== undefined ? (
          <Problem error={error} again={again} />
        ) : value === undefined ? (
          <Waiting what="the texts" />
        ) : (
          (['input', 'output'] as const).map(half => {
            const [before, after] = value.map(body => body && sourceAt(body, half))
            return <DiffView key={half} name={half} before={before} after={after} />
          })
        )}
      </div>
    </section>
  )
}

function sourceAt(body: Body, half: 'input' | 'output'): string | undefined {
  const node = body[half]
  return node && sourceOf(body.text, node)
}

function ModelChange({ spans }: { spans: readonly (OutlineSpan | undefined)[] }) {
  const [a, b] = spans
  if (!a || !b || a.model === b.model) return null
  return (
    <span>
      model {a.model === null ? 'none' : asLine(a.model, 60)} → {b.model === null ? 'none' : asLine(b.model, 60)}
    </span>
  )
}
