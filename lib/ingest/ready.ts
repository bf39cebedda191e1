/** A body made ready for the write path: prepared, and rendered where its rows are known already. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { prepare } from '../trace/prepare.ts'
import type { Prepared, PreparedAppend, PreparedEnd } from '../trace/prepared.ts'
import { type RecordText, renderTrace } from './rows.ts'

export interface ReadyTask {
  readonly operation: Prepared['operation']
  readonly body: Uint8Array
}

/** A trace to record is rendered; appends and ends stay values, since what is written of them is yet to be decided. */
export type Ready = RecordText | PreparedAppend | PreparedEnd

/** A refusal is a value here: an error's code does not survive the way between threads. */
export type ReadyResult = { readonly ready: Ready } | { readonly refusal: { code: ErrorCode; message: string } }

export function makeReady({ operation, body }: ReadyTask): ReadyResult {
  try {
    const prepared = prepare(operation, body)
    return { ready: prepared.operation === 'record' ? renderTrace(prepared) : prepared }
  } catch (error) {
    if (error instanceof Refusal) return { refusal: { code: error.code, message: error.message } }
    throw error
  }
}
