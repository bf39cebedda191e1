/** Lists spans in chronological order, one per line, each with the start of its output. */

import { useEffect, useState } from 'preact/hooks'
import { type Body, knownBody, loadBody, pathOfBody } from '../content/bodies.ts'
import { sourceOf } from '../content/json-text.ts'
import type { Outline, OutlineSpan } from '../contract.ts'
import { Icon } from '../ui/controls.tsx'
import { formatDuration } from '../ui/format.ts'
import { asLine, cut } from '../ui/text.ts'
import { clockTime, type Zone } from '../ui/time.ts'
import { VirtualRows } from '../ui/virtual-rows.tsx'

const ROW_PX = 46

interface Props {
  readonly slug: string
  readonly outline: Outline
  readonly selected: string
  readonly hits: ReadonlyMap<string, number> | undefined
  readonly zone: Zone
  select(key: string): void
}

export function LogView({ slug, outline, selected, hits, zone, select }: Props) {
  const spans = outline.spans
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
              <span class="row-time">{formatDuration(span.durationMs)}</span>
            </span>
            <Preview slug={slug} traceId={outline.trace.id} span={span} version={outline.version} />
          </div>
        )
      }}
    />
  )
}

/** Spans with larger bodies have no preview. */
const PREVIEW_BYTES = 200_000

function Preview(props: { slug: string; traceId: string; span: OutlineSpan; version: string | number }) {
  const { slug, traceId, span, version } = props
  const path = pathOfBody(slug, traceId, span.id)
  const isLarge = span.inputBytes + span.outputBytes + span.attributesBytes > PREVIEW_BYTES
  const [body, setBody] = useState<Body | undefined>(() => knownBody(path, version))
  useEffect(() => {
    if (isLarge || body !== undefined) return
    let gone = false
    // The delay avoids requests for rows that are only scrolled past.
    const timer = setTimeout(() => {
      loadBody(path, version).then(
        loaded => {
          if (!gone) setBody(loaded)
        },
        () => {}
      )
    }, 150)
    return () => {
      gone = true
      clearTimeout(timer)
    }
  }, [path])
  const node = body?.output ?? body?.input
  const text = body === undefined || node === undefined ? '' : cut(sourceOf(body.text, node), 600)
  return <span class="log-preview clip">{isLarge ? 'large; choose it to read it' : asLine(text, 200)}</span>
}
