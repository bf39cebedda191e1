/** Shows the changes between two texts. Unchanged lines are folded except for a few around each change. */
import { useMemo, useState } from 'preact/hooks'
import { Plain } from '../content/text-view.tsx'
import { useLoad } from '../state/load.ts'
import { formatCount, formatCounted } from '../ui/format.ts'
import { Offscreen } from '../ui/offscreen.tsx'
import { Problem, Waiting } from '../ui/problem.tsx'
import { compareTexts } from './differ.ts'
import { countChanges, type Stretch, stretches } from './fold-lines.ts'
import type { DiffLine } from './text-diff.ts'

interface Props {
  readonly name: 'input' | 'output'
  /** JSON strings. */
  readonly before: string | undefined
  readonly after: string | undefined
}

/** Lines per group. Groups far from the viewport are not rendered. */
const TOGETHER = 40
const LINE_PX = 20
/** Number of lines shown at first, and added by each press of the button. */
const PORTION = 2000

export function DiffView({ name, before, after }: Props) {
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
        <p class="soft">None in either.</p>
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
  return gone + come === 0 ? 'the same in both' : `−${formatCount(gone)} +${formatCounted(come, 'line')}`
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
            {formatCounted(to - from, 'line')} the same in both
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
        <button type="button" class="show-all" onClick={() => setMost(most + PORTION)}>
          Show more: {formatCounted(shown.left, 'line')} left
        </button>
      )}
    </div>
  )
}

/** Groups the stretches into blocks that render together, up to a number of lines, and counts the remaining lines. */
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

/** Most lines are a single element because texts may be long. Style sheets add the + and − signs. */
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
