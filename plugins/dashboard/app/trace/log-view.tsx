/** Lists spans in chronological order, parents before children, each with a preview. */

import { useMemo } from 'preact/hooks'
import type { Outline } from '../contract.ts'
import { Icon } from '../ui/controls.tsx'
import { formatDuration } from '../ui/format.ts'
import { asLine } from '../ui/text.ts'
import { clockTime, type Zone } from '../ui/time.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'
import { StepMarks } from './marks.tsx'
import { usePreview } from './previews.tsx'
import type { RowMark } from './step-marks.ts'
import { inTime } from './turns.ts'

const ROW_PX = 46

interface Props {
  readonly outline: Outline
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly marks: ReadonlyMap<string, RowMark>
  readonly zone: Zone
  select(key: string): void
}

export function LogView({ outline, selected, hits, marks, zone, select }: Props) {
  const spans = useMemo(() => inTime(outline.spans), [outline.spans])
  return (
    <VirtualRows
      class="rows log"
      id="spans"
      role="listbox"
      label="Spans by time"
      count={spans.length}
      rowPx={ROW_PX}
      at={spans.findIndex(({ id }) => id === selected)}
      active={`row-${selected}`}
      page={10}
      select={index => select(spans[index]!.id)}
      row={(index, top) => {
        const span = spans[index]!
        return (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the list handles the keys.
          <div
            key={span.id}
            id={`row-${span.id}`}
            class={`row ${span.id === selected ? 'is-selected' : ''} ${hits !== undefined && !hits.has(span.id) ? 'is-dim' : ''}`}
            role="option"
            aria-selected={span.id === selected}
            tabIndex={-1}
            style={{ insetBlockStart: `${top}px` }}
            onClick={() => select(span.id)}
          >
            <span class="log-head">
              <span class="soft">{clockTime(span.startedAt, zone, true)}</span>
              {span.status === 'error' && <Icon name="error" class="is-error" />}
              <b class="clip">{asLine(span.name, 120)}</b>
              <span class={`kind is-${span.kind}`}>{span.kind}</span>
              <StepMarks mark={marks.get(span.id)} />
              <span class="row-time">{formatDuration(span.durationMs)}</span>
            </span>
            <LogWords id={span.id} />
          </div>
        )
      }}
    />
  )
}

function LogWords({ id }: { id: string }) {
  const preview = usePreview(id)
  const isFailure = preview !== undefined && preview.error !== ''
  const text = preview === undefined ? '' : asLine(isFailure ? preview.error : preview.text, 200)
  return <span class={`log-preview clip ${isFailure ? 'is-error' : ''}`}>{text}</span>
}
