/** A body made ready for the write path: prepared, and rendered where its rows are known already. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { type Encoding, readExport } from '../otlp/export.ts'
import type { MappedSpan } from '../otlp/map-span.ts'
import type { SpanRefusal } from '../trace/decide-export.ts'
import { normaliseSpans } from '../trace/normalise.ts'
import { prepare } from '../trace/prepare.ts'
import type { PreparedAppend, PreparedEnd } from '../trace/prepared.ts'
import { prepareRestore } from '../trace/restore.ts'
import { type ExportText, renderExport } from './export-rows.ts'
import { type RecordText, renderRestored, renderTrace } from './rows.ts'

export type Operation = 'record' | 'append' | 'end' | 'restore' | 'export-json' | 'export-protobuf'

export interface ReadyTask {
  readonly operation: Operation
  readonly body: Uint8Array
}

/** An export, by the traces that it has spans of. */
export interface PreparedExport {
  readonly operation: 'export'
  readonly traces: readonly ExportText[]
  /** Spans that belong to none of them. */
  readonly refusals: readonly SpanRefusal[]
}

/** A trace to record or restore is rendered; appends and ends stay values, since what is written of them is yet to be decided. */
export type Ready = RecordText | PreparedAppend | PreparedEnd | PreparedExport

/** A refusal is a value here: an error's code does not survive the way between threads. */
export type ReadyResult = { readonly ready: Ready } | { readonly refusal: { code: ErrorCode; message: string } }

export function makeReady(task: ReadyTask): ReadyResult {
  try {
    return { ready: prepareAndRender(task) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

function prepareAndRender({ operation, body }: ReadyTask): Ready {
  switch (operation) {
    case 'record':
      return renderTrace(prepare('record', body))
    case 'restore':
      return renderRestored(prepareRestore(body))
    case 'append':
      return prepare('append', body)
    case 'end':
      return prepare('end', body)
    case 'export-json':
      return prepareExport(body, 'json')
    case 'export-protobuf':
      return prepareExport(body, 'protobuf')
  }
}

function prepareExport(body: Uint8Array, encoding: Encoding): PreparedExport {
  const { traces, refusals } = readExport(body, encoding)
  const texts = Array.from(traces, ([traceId, mapped]) => {
    const { spans } = normaliseSpans({
      value: { schemaVersion: 1, spans: mapped.map(({ span }) => span) },
      escapes: false
    })
    return renderExport(
      traceId,
      spans.map((span, i) => ({ ...span, hints: (mapped[i] as MappedSpan).hints }))
    )
  })
  return { operation: 'export', traces: texts, refusals }
}
