/** A body made ready for the write path: prepared, and rendered where its rows are known already. */
import { type ErrorCode, Refusal } from '../errors.ts'
import type { CopyRows } from '../store/copy-batch.ts'
import { countBytes, oversizeMessage } from '../trace/decide.ts'
import { prepare } from '../trace/prepare.ts'
import type { PreparedAppend, PreparedEnd, PreparedTrace } from '../trace/prepared.ts'
import { prepareRestore } from '../trace/restore.ts'
import { renderCopyRows } from './copy-rows.ts'
import { type RecordText, renderRestored, renderTrace } from './rows.ts'

/**
 * `record` makes the rows that COPY takes, and `record text` those for the statement. Appends and ends stay values, since
 * what is written of them is yet to be decided.
 */
export type Operation = 'record' | 'record text' | 'append' | 'end' | 'restore'

export interface ReadyTask {
  readonly operation: Operation
  readonly body: Uint8Array
}

/** A trace to record or restore: what decide() and the answer need, and its rows in one form or the other. */
export interface ReadyRecord {
  readonly operation: 'record'
  readonly traceId: string
  readonly hash: string
  readonly running: boolean
  readonly oversize: string | undefined
  readonly spanCount: number
  readonly estimatedBytes: number
  readonly copy: CopyRows | undefined
  readonly text: RecordText | undefined
}

export type Ready = ReadyRecord | PreparedAppend | PreparedEnd

/** A refusal is a value here: an error's code does not survive the way between threads. */
export type ReadyResult = { readonly ready: Ready } | { readonly refusal: { code: ErrorCode; message: string } }

export function makeReady({ operation, body }: ReadyTask): ReadyResult {
  try {
    return { ready: prepareAndRender(operation, body) }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}

/** The rows for the statement of a body that was made ready for COPY. */
export const renderAsText = (body: Uint8Array): RecordText => renderTrace(prepare('record', body))

function prepareAndRender(operation: Operation, body: Uint8Array): Ready {
  switch (operation) {
    case 'record': {
      const trace = prepare('record', body)
      return readyRecord(trace, renderCopyRows(trace), undefined)
    }
    case 'record text': {
      const trace = prepare('record', body)
      return readyRecord(trace, undefined, renderTrace(trace))
    }
    case 'restore': {
      const trace = prepareRestore(body)
      return readyRecord(trace, undefined, renderRestored(trace))
    }
    case 'append':
      return prepare('append', body)
    case 'end':
      return prepare('end', body)
  }
}

function readyRecord(trace: PreparedTrace, copy: CopyRows | undefined, text: RecordText | undefined): ReadyRecord {
  return {
    operation: 'record',
    traceId: trace.traceId,
    hash: trace.hash,
    running: trace.endedAt === null,
    oversize: oversizeMessage(trace),
    spanCount: trace.spans.length,
    estimatedBytes: trace.bytes + countBytes(trace.spans),
    copy,
    text
  }
}
