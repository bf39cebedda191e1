import { needsLook, type Operation, type Pending } from '../../../lib/ingest/pending.ts'
import { makeReady } from '../../../lib/threads/ready.ts'
import { bytes } from '../../fixtures/database/write-path.ts'

/** Creates an operation as the queue delivers it, with its result: a decision, or the code of a rejection. */
export function makePending(
  projectId: number,
  name: 'record' | 'append' | 'end',
  traceId: string,
  body: object,
  onAnswer: (pending: Pending) => void = () => {}
) {
  const result = makeReady({ operation: name, body: bytes(body), environment: null, hurries: false })
  if ('refusal' in result) throw new Error(result.refusal.message)
  const operation = { ...result.ready, environment: null } as unknown as Operation
  let answer: unknown
  const settle = (value: unknown) => {
    pending.settled = true
    answer = value
    onAnswer(pending)
  }
  const pending: Pending = {
    ...{
      key: `${projectId} ${traceId}`,
      bytes: 1000,
      alone: false,
      projectId,
      traceId,
      keyId: null,
      environment: null
    },
    ...{ operation, charge: undefined, look: needsLook(operation), attempts: [], decision: undefined, tries: 0 },
    ...{ lostSince: undefined, settled: false, resolve: settle, reject: settle }
  }
  return { pending, answer: () => answer }
}
