import type { App } from '../../lib/app.ts'
import { found } from '../../lib/http/refuse.ts'
import { JsonText, type Reply, type RequestOf } from '../../lib/http/route.ts'
import { MetadataPatch } from '../../lib/schema/input.ts'
import { MetadataPatched } from '../../lib/schema/output.ts'
import { type Merge, patchMetadata } from '../../lib/store/trace/metadata.ts'
import { textsOf } from '../../lib/trace/text-pair.ts'

export default function (app: App): void {
  app.route({
    method: 'PATCH',
    path: '/api/v1/traces/:traceId',
    operation: 'patchTraceMetadata',
    access: 'traces:write',
    summary: 'Merge metadata into a trace',
    description:
      'Each key in the request replaces the whole top-level key of that name; other keys are unchanged. If two ' +
      'requests write the same key, the last one wins. The bodyHash does not change, so resending the original trace ' +
      'is still a duplicate.',
    body: MetadataPatch,
    takesBody: true,
    replies: { 200: MetadataPatched },
    errors: ['invalid_request', 'payload_too_large', 'quota_exhausted'],
    handler: request => answerMetadataPatch(app, request.key.projectId, request)
  })
}

/** Merges metadata into a trace and responds. The dashboard returns the same response. */
export async function answerMetadataPatch(
  app: App,
  projectId: number,
  { traceId, payload, requestId }: Pick<RequestOf<unknown>, 'traceId' | 'payload' | 'requestId'>
): Promise<Reply> {
  const merge: Merge = (stored, patch) => app.bodies.parse('merge', textsOf(stored ?? '{}', patch), projectId)
  const patch = await app.bodies.parse('patch', payload, projectId)
  const { metadata, changed } = found(
    await app.sql.write((sql, attempts) => patchMetadata(sql, projectId, traceId, patch, attempts, merge))
  )
  const merged = `"metadata":${metadata},"changed":${changed}`
  return { body: new JsonText(`{"ok":true,"traceId":"${traceId}",${merged},"requestId":"${requestId}"}`) }
}
