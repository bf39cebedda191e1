import { AdminError } from '../../lib/admin/admin-error.ts'
import { createKey, revokeKey } from '../../lib/admin/keys.ts'
import { readConfig } from '../../lib/config.ts'
import { type RecordedTrace, recordDemo } from '../../lib/demo/record.ts'
import { findServer } from '../../lib/health/running-server.ts'
import { command } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../table.ts'

export default command({
  summary: 'Record a handful of realistic traces, to have something to look at',
  usage: {
    parameters: [],
    flags: {
      key: { type: 'string', value: 'KEY', about: 'the API key to record with; SPOOR_API_KEY if not given' },
      project: { type: 'string', value: 'SLUG', about: 'where to record without a key; `default` if not given' },
      url: { type: 'string', value: 'URL', about: 'the address of the server; looked for if not given' }
    },
    details: 'Without a key it makes one in the database, which it revokes when it is done.',
    examples: ['demo', 'demo --project evals', 'demo --url https://spoor.example.com --key "$SPOOR_API_KEY"']
  },
  async run({ flags, env, print }) {
    // Every user of this machine can read the command line of a running process, so the key is taken out of it.
    if (flags.key !== undefined) process.title = 'spoor demo'
    const address = flags.url?.replace(/\/+$/, '') ?? (await requireServer(env))
    const given = flags.key ?? env.SPOOR_API_KEY
    const project = flags.project ?? 'default'
    const traces = given ? await recordDemo(address, given) : await recordWithOwnKey(env, address, project)
    const keyUsed = given ? (flags.key === undefined ? 'SPOOR_API_KEY' : '--key') : `a key made for it in ${project}`
    print({ address, key: keyUsed, traces }, describe(address, keyUsed, traces))
  }
})

async function requireServer(env: NodeJS.ProcessEnv): Promise<string> {
  const server = await findServer(readConfig(env))
  if (server !== undefined) return server.address
  throw new AdminError('no server is running: start one with `spoor serve`, or say where it is with --url')
}

async function recordWithOwnKey(env: NodeJS.ProcessEnv, address: string, project: string): Promise<RecordedTrace[]> {
  return withDatabase(env, async ({ sql, making }) => {
    const request = { project, label: 'demo', scopes: ['traces:write' as const], expiresInDays: 1 }
    const { key, keyId } = await createKey(sql, making, request)
    try {
      return await recordDemo(address, key)
    } finally {
      await revokeKey(sql, keyId)
    }
  })
}

function describe(address: string, keyUsed: string, traces: readonly RecordedTrace[]): string {
  const rows = traces.map(({ id, name, state, scores }) => [id, name, state, scores])
  return [
    `Recorded ${traces.length} traces at ${address} with ${keyUsed}:`,
    '',
    table(['TRACE', 'NAME', 'STATUS', 'SCORES'], rows, ''),
    '',
    'Read them with a key that has the scope traces:read:',
    '',
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" '${address}/api/v1/traces?tag=demo'`,
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" ${address}/api/v1/traces/${traces[0]!.id}`
  ].join('\n')
}
