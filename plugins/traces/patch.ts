import { type App, JsonText } from '../../lib/app.ts'
import { found } from '../../lib/refuse.ts'
import { MetadataPatch } from '../../lib/schema/input.ts'
import { MetadataPatched } from '../../lib/schema/output.ts'
import { patchMetadata } from '../../lib/store/metadata.ts'
import { readBody } from '../../lib/trace/body.ts'
import { stringifyExact } from '../../lib/trace/json.ts'

export default function (app: App): void {
  app.route({
    method: 'PATCH',
    path: '/api/v1/traces/:traceId',
    operation: 'patchTraceMetadata',
    access: 'traces:write',
    summary: 'Merge metadata into a trace',
    description:
      'A key in the request replaces that top-level key outright; the others are untouched. Of two writers of one key, ' +
      'the last wins. The bodyHash stays, so resending the original trace is still a duplicate.',
    body: MetadataPatch,
    replies: { 200: MetadataPatched },
    errors: ['payload_too_large', 'quota_exhausted', 'unavailable'],
    async handler({ key, traceId, payload, requestId }) {
      const patch = exactMetadata(payload)
      const { metadata, changed } = found(
        await app.store.write(sql => patchMetadata(sql, key.projectId, traceId, patch))
      )
      const merged = `"metadata":${metadata},"changed":${changed}`
      return { body: new JsonText(`{"ok":true,"traceId":"${traceId}",${merged},"requestId":"${requestId}"}`) }
    }
  })
}

/** The metadata of a checked body, from its bytes: the parsed body has lost the numbers that a double cannot hold. */
function exactMetadata(payload: Uint8Array): string {
  const { exact, inexact } = readBody(payload, 'invalid_request')
  return stringifyExact((exact as MetadataPatch).metadata, inexact)
}
