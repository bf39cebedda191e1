/** Imports coding agents' transcripts for `spoor import`: directly into the database, or through a server. */
import { basename } from 'node:path'
import { readOptions } from '../../../clients/typescript/options.ts'
import { requireProject } from '../../../lib/admin/projects.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import type { SentExport, TranscriptCounts, TranscriptFormat } from '../../../lib/moving/import-transcripts.ts'
import type { Call } from '../../command.ts'
import { UsageError } from '../../command.ts'
import { RESTORE_HEAP_MIB, withDatabase } from '../../database.ts'
import { interruptible } from '../../terminal/interrupt.ts'
import type { Progress } from '../../terminal/progress.ts'
import { bar, count, counted, size } from '../../terminal/words.ts'

export interface TranscriptRequest {
  readonly path: string
  readonly format: TranscriptFormat
  readonly project: string | undefined
  readonly follow: boolean
}

type Surroundings = Pick<Call, 'env' | 'print' | 'progress'>
type Send = (request: Uint8Array) => Promise<SentExport>

export async function importAgent(request: TranscriptRequest, { env, print, progress }: Surroundings): Promise<void> {
  const counts =
    request.project === undefined
      ? await importOverHttp(request, env, progress)
      : await importIntoDatabase(request, request.project, env, progress)
  progress.clear()
  print(counts, describe(counts))
  const { refused, broken } = counts
  if (refused + broken === 0) return
  const what = [...(refused > 0 ? [counted(refused, 'step')] : []), ...(broken > 0 ? [counted(broken, 'line')] : [])]
  throw new AdminError(`${what.join(' and ')} could not be imported: see above`)
}

async function importOverHttp(request: TranscriptRequest, env: NodeJS.ProcessEnv, progress: Progress) {
  if (!env.SPOOR_URL) {
    throw new UsageError('--project is missing: add it, or set SPOOR_URL and SPOOR_API_KEY to send to a server')
  }
  const { url, key, obstacle } = readOptions({}, env)
  if (obstacle !== undefined) throw new AdminError(obstacle)
  const { OtlpSender } = await import('./otlp-sender.ts')
  return interruptible(async signal => {
    const sender = new OtlpSender({ url, key }, { signal, patient: request.follow, onWait: text => progress.say(text) })
    try {
      return await run(request, body => sender.send(body), progress, signal)
    } finally {
      await sender.close()
    }
  })
}

async function importIntoDatabase(
  request: TranscriptRequest,
  project: string,
  env: NodeJS.ProcessEnv,
  progress: Progress
) {
  const { path, format } = request
  return withDatabase(env, session =>
    interruptible(async signal => {
      const { database, config, log, sql } = session
      const [{ WritePath }, { amendAudit, writeAudit }] = await Promise.all([
        import('../../../lib/ingest/write-path.ts'),
        import('../../../lib/store/audit.ts')
      ])
      const projectId = await requireProject(sql, project)
      const detail = { file: basename(path), format }
      const auditId = await writeAudit(sql, { by: null, action: 'trace.import', projectId, detail })
      const options = { ...config, trialTraces: undefined, heapMiB: RESTORE_HEAP_MIB }
      const writePath = new WritePath(database, options, log)
      let counts: TranscriptCounts | undefined
      try {
        const send: Send = body => writePath.export(nobody(projectId), body, 'json')
        counts = await run(request, send, progress, signal, now => {
          counts = now
        })
        return counts
      } finally {
        await writePath.close()
        if (counts !== undefined) {
          const { prompts, steps, refused } = counts
          await amendAudit(sql, auditId, { prompts, steps, refused }).catch(() => {})
        }
      }
    })
  )
}

/** The author of steps imported by a command. Like restored traces, the steps have no key. */
const nobody = (projectId: number) => ({
  // The stored key id is null, although the type allows null only for authors of restored traces.
  keyId: null as unknown as string,
  label: '',
  projectId,
  scopes: [],
  environment: null,
  trialAccountId: null,
  expiresAt: null,
  lastUsedAt: ''
})

async function run(
  { path, format, follow }: TranscriptRequest,
  send: Send,
  progress: Progress,
  signal: AbortSignal,
  onCounts: (counts: TranscriptCounts) => void = () => {}
): Promise<TranscriptCounts> {
  const { importTranscripts } = await import('../../../lib/moving/import-transcripts.ts')
  return importTranscripts({
    ...{ path, format, follow, send, signal },
    onProblem: (place, reason) => progress.say(`${place}: ${reason}`),
    onProgress: (counts, totalBytes) => {
      onCounts(counts)
      progress.show(() => `${bar(counts.bytes, totalBytes)}  ${describeCounts(counts)}, ${size(counts.bytes)}`)
    }
  })
}

const describeCounts = ({ files, prompts, steps }: TranscriptCounts): string =>
  `${counted(files, 'transcript')} read: ${counted(prompts, 'prompt')}, ${counted(steps, 'step')}`

function describe(counts: TranscriptCounts): string {
  const { refused, broken, open } = counts
  const faults = [
    ...(refused > 0 ? [`${count(refused)} rejected`] : []),
    ...(broken > 0 ? [`${counted(broken, 'broken line')}`] : [])
  ]
  const text = [describeCounts(counts), ...faults].join(', ')
  return open === 0 ? text : `${text}\n${counted(open, 'prompt')} not finished yet: import again later for the rest`
}
