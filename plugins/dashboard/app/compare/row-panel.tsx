/** A step's input and output in both traces, as removed, added and unchanged lines. */

import { useMemo, useState } from 'preact/hooks'
import { type Body, loadBody, pathOfBody } from '../content/bodies.ts'
import { sourceOf } from '../content/json-text.ts'
import { TRACE_ROW } from '../content/span-tree.ts'
import { Plain } from '../content/text-view.tsx'
import type { Outline, OutlineSpan } from '../contract.ts'
import { useLoad } from '../state/load.ts'
import { pathOf } from '../state/route.ts'
import { MoreButton } from '../ui/controls.tsx'
import { formatCount, formatCounted } from '../ui/format.ts'
import { Offscreen } from '../ui/offscreen.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { asLine } from '../ui/text.ts'
import type { AlignedRow } from './align.ts'
import { compareTexts } from './differ.ts'
import type { DiffLine } from './text-diff.ts'
import { countChanges, type Stretch, stretches } from './text-diff.ts'

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
  ].map(side => ({ ...side, id: row === undefined ? TRACE_ROW : side.span?.id }))
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
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable content must be reachable by keyboard. */}
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

interface DiffProps {
  readonly name: 'input' | 'output'
  /** JSON strings of the two values. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Number of lines per group. Groups far from the viewport are not rendered. */
const TOGETHER = 40
const LINE_PX = 20
/** Number of lines shown at first, and added by each press of the button. */
const PORTION = 2000

/** Shows the changes between two texts. Unchanged lines are folded except for a few around each change. */
function DiffView({ name, before, after }: DiffProps) {
  const nothing = before === undefined && after === undefined
  const { value: lines, error, again } = useLoad(nothing ? undefined : 'compared', () => compareTexts(before, after))
  const title = name === 'input' ? 'Input' : 'Output'
  const changes = useMemo(() => (lines === undefined ? undefined : countChanges(lines)), [lines])
  return (
    <section class="half" aria-label={title}>
      <h3>
        {title}
        {changes !== undefined && <span class="soft said">{saidOf(before, after, changes)}</span>}
      </h3>
      {nothing ? (
        <p class="soft">Neither trace has one.</p>
      ) : error !== undefined ? (
        <Problem error={error} again={again} />
      ) : lines === undefined ? (
        <Waiting what="the difference" />
      ) : (
        <Lines lines={lines} />
      )}
    </section>
  )
}

function saidOf(before: string | undefined, after: string | undefined, changes: ReturnType<typeof countChanges>) {
  if (before === undefined) return 'only in B'
  if (after === undefined) return 'only in A'
  const { gone, come } = changes
  return gone + come === 0 ? 'identical' : `−${formatCount(gone)} +${formatCounted(come, 'line')}`
}

function Lines({ lines }: { lines: readonly DiffLine[] }) {
  const [opened, setOpened] = useState<ReadonlySet<number>>(new Set())
  const [most, setMost] = useState(PORTION)
  const all = useMemo(() => stretches(lines, opened), [lines, opened])
  const shown = useMemo(() => blocksOf(all, most), [all, most])
  return (
    <div class="diff" dir="ltr">
      {shown.blocks.map(({ from, to, folded }, i) =>
        folded ? (
          <button key={from} type="button" class="plain folded" onClick={() => setOpened(new Set([...opened, from]))}>
            {formatCounted(to - from, 'identical line')}
          </button>
        ) : (
          <Offscreen key={from} {...(i > 2 && { estimate: (to - from) * LINE_PX })}>
            {lines.slice(from, to).map((line, at) => (
              <Line key={from + at} line={line} />
            ))}
          </Offscreen>
        )
      )}
      {shown.left > 0 && (
        <MoreButton onClick={() => setMost(most + PORTION)}>
          Show more ({formatCounted(shown.left, 'line')} left)
        </MoreButton>
      )}
    </div>
  )
}

/**
 * Splits the first lines of the stretches, about `most` in total, into blocks that render together, and counts the
 * remaining lines.
 */
function blocksOf(all: readonly Stretch[], most: number): { readonly blocks: Stretch[]; readonly left: number } {
  const blocks: Stretch[] = []
  let [shown, left] = [0, 0]
  for (const stretch of all) {
    if (shown >= most) {
      left += stretch.to - stretch.from
      continue
    }
    if (stretch.folded) {
      blocks.push(stretch)
      continue
    }
    for (let from = stretch.from; from < stretch.to; from += TOGETHER) {
      if (shown >= most) {
        left += stretch.to - from
        break
      }
      const to = Math.min(from + TOGETHER, stretch.to)
      blocks.push({ from, to, folded: false })
      shown += to - from
    }
  }
  return { blocks, left }
}

/** A text may have many lines, so an unchanged line is a single element. Style sheets add the + and − signs. */
function Line({ line }: { line: DiffLine }) {
  if (line.kind === 'same') {
    return (
      <div class="line">
        <Plain text={line.text} />
      </div>
    )
  }
  const Tag = line.kind === 'gone' ? 'del' : 'ins'
  return (
    <Tag class="line">
      {line.pieces.map(({ text, changed }, i) =>
        changed ? (
          <mark key={i}>
            <Plain text={text} />
          </mark>
        ) : (
          <Plain key={i} text={text} />
        )
      )}
    </Tag>
  )
}
