/** A body made ready for the write path: prepared, and rendered where its rows are known already. */
import { type ErrorCode, Refusal } from '../errors.ts'
import { prepare } from '../trace/prepare.ts'
import type { PreparedAppend, PreparedEnd } from '../trace/prepared.ts'
import { prepareRestore } from '../trace/restore.ts'
import { type RecordText, renderRestored, renderTrace } from './rows.ts'

export type Operation = 'record' | 'append' | 'end' | 'restore'

export interface ReadyTask {
  readonly operation: Operation
  readonly body: Uint8Array
}

/** A trace to record or restore is rendered; appends and ends stay values, since what is written of them is yet to be decided. */
export type Ready = RecordText | PreparedAppend | PreparedEnd

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

function prepareAndRender(operation: ReadyTask['operation'], body: Uint8Array): Ready {
  switch (operation) {
    case 'record':
      return renderTrace(prepare('record', body))
    case 'restore':
      return renderRestored(prepareRestore(body))
    case 'append':
      return prepare('append', body)
    case 'end':
      return prepare('end', body)
  }
}
