import { createKey, revokeKey } from '../../../lib/admin/keys.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import { readConfig } from '../../../lib/config.ts'
import type { RecordedDemo } from '../../../lib/demo/record.ts'
import { MOST_TRACES, WRITTEN_OUT } from '../../../lib/demo/traces.ts'
import { findServer } from '../../../lib/health/running-server.ts'
import { command, UsageError } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { table } from '../../terminal/table.ts'

export default command({
  summary: 'Record realistic example traces',
  flags: {
    key: { type: 'string', value: 'KEY', about: 'the API key to record with; SPOOR_API_KEY by default' },
    project: {
      type: 'string',
      value: 'SLUG',
      about: 'the project to record in, with a temporary key; `default` if there is no key'
    },
    traces: {
      type: 'string',
      value: 'N',
      about: `the number of traces, at least ${WRITTEN_OUT}, which is the default`
    },
    url: { type: 'string', value: 'URL', about: 'the address of the server; found automatically by default' }
  },
  details:
    'Without a key, or with --project, the command creates a key in the database and revokes it at the end.' +
    `\nTraces beyond the first ${WRITTEN_OUT} are ordinary traces of the last day.`,
  examples: [
    'demo',
    'demo --project evals --traces 500',
    'demo --url https://spoor.example.com --key "$SPOOR_API_KEY"'
  ],
  async run({ flags, env, print, progress }) {
    // Every user of this machine can read the command lines of running processes, so setting the title hides the key.
    if (flags.key !== undefined) process.title = 'spoor demo'
    const count = parseCount(flags.traces)
    if (flags.key !== undefined && flags.project !== undefined) {
      throw new UsageError('--project cannot be combined with --key: a key belongs to one project')
    }
    // SPOOR_API_KEY may be set for other purposes, so a project given as a flag takes precedence.
    const given = flags.key ?? (flags.project === undefined ? env.SPOOR_API_KEY : undefined)
    const address = flags.url?.replace(/\/+$/, '') ?? (await requireServer(env, Boolean(given)))
    const project = flags.project ?? 'default'
    // Loaded here because --help does not need this module.
    const { recordDemo } = await import('../../../lib/demo/record.ts')
    const record = (key: string) =>
      recordDemo(address, key, count, recorded => progress.show(() => `${recorded} of ${count} traces`))
    const traces = given ? await record(given) : await recordWithOwnKey(env, project, record)
    progress.clear()
    const keyUsed = given ? (flags.key === undefined ? 'SPOOR_API_KEY' : '--key') : `a key made for it in ${project}`
    print({ address, key: keyUsed, traces }, describe(address, keyUsed, traces))
  }
})

function parseCount(text: string | undefined): number {
  if (text === undefined) return WRITTEN_OUT
  const count = /^\d{1,6}$/.test(text) ? Number(text) : 0
  if (count >= WRITTEN_OUT && count <= MOST_TRACES) return count
  throw new UsageError(`--traces must be from ${WRITTEN_OUT} to ${MOST_TRACES}, but is ${JSON.stringify(text)}`)
}

/**
 * Returns the server's address. If a key is given, the server is not verified, because any other server would reject
 * the key.
 */
async function requireServer(env: NodeJS.ProcessEnv, hasKey: boolean): Promise<string> {
  const server = hasKey
    ? await findServer(readConfig(env))
    : await withDatabase(env, ({ config, sql }) => findServer(config, sql))
  if (server !== undefined) return server.address
  throw new AdminError('no server is running: start one with `spoor serve`, or give its address with --url')
}

async function recordWithOwnKey(
  env: NodeJS.ProcessEnv,
  project: string,
  record: (key: string) => Promise<RecordedDemo[]>
): Promise<RecordedDemo[]> {
  return withDatabase(env, async ({ sql, making }) => {
    const request = { project, label: 'demo', scopes: ['traces:write' as const], expiresInDays: 1 }
    const { key, keyId } = await createKey(sql, making, request)
    try {
      return await record(key)
    } finally {
      await revokeKey(sql, keyId)
    }
  })
}

/** Maximum number of traces listed. The latest traces are listed. */
const MOST_SHOWN = 12

function describe(address: string, keyUsed: string, traces: readonly RecordedDemo[]): string {
  const shown = traces.slice(-MOST_SHOWN)
  const rows = shown.map(({ id, name, state, scores }) => [id, name, state, scores])
  return [
    `Recorded ${traces.length} traces at ${address} with ${keyUsed}${shown.length < traces.length ? '; the last of them' : ''}:`,
    '',
    table(['TRACE', 'NAME', 'STATUS', 'SCORES'], rows, ''),
    '',
    `Look at them: ${address}/app (\`spoor user link EMAIL\` signs in)`,
    '',
    'Read them with a key that has the scope traces:read:',
    '',
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" '${address}/api/v1/traces?tag=demo'`,
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" ${address}/api/v1/traces/${shown[0]!.id}`
  ].join('\n')
}
