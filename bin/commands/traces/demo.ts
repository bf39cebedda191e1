import { createKey, type IssuedKey, revokeKey } from '../../../lib/admin/keys.ts'
import { AdminError } from '../../../lib/admin-error.ts'
import { readConfig } from '../../../lib/config.ts'
import { DEMO_ENVIRONMENTS } from '../../../lib/demo/parts.ts'
import type { DemoKeys, RecordedDemo } from '../../../lib/demo/record.ts'
import { LONGEST_DAYS, MOST_TRACES, WRITTEN_OUT } from '../../../lib/demo/traces.ts'
import { findServer } from '../../../lib/health/running-server.ts'
import { command, UsageError } from '../../command.ts'
import { withDatabase } from '../../database.ts'
import { table } from '../../terminal/table.ts'

export default command({
  summary: 'Record realistic example traces',
  flags: {
    key: { type: 'string', value: 'KEY', about: 'the API key for recording; SPOOR_API_KEY by default' },
    project: {
      type: 'string',
      value: 'SLUG',
      about: 'the project to record in, with a temporary key; `default` without a key'
    },
    days: { type: 'string', value: 'N', about: 'the number of days to spread the traces over; 1 by default' },
    seed: { type: 'string', value: 'N', about: 'the seed for generating the traces; 1 by default' },
    traces: {
      type: 'string',
      value: 'N',
      about: `the number of traces: ${WRITTEN_OUT} (the default) or more`
    },
    url: { type: 'string', value: 'URL', about: "the server's address; detected by default" }
  },
  details:
    'Without a key, or with --project, the command creates a temporary key in the database.' +
    `\nTraces beyond the first ${WRITTEN_OUT} look like a busy project's: conversations, retrieval, agents of up to ` +
    '170 steps, failures, scores and, with its own keys, three environments.\nThe same --seed generates the same ' +
    'traces with new ids.',
  examples: [
    'demo',
    'demo --project evals --traces 4000 --days 30',
    'demo --url https://spoor.example.com --key "$SPOOR_API_KEY"'
  ],
  async run({ flags, env, print, progress }) {
    // Every user of this machine can read the command lines of running processes, so setting the title hides the key.
    if (flags.key !== undefined) process.title = 'spoor demo'
    const count = parseCount('--traces', flags.traces, WRITTEN_OUT, MOST_TRACES)
    const days = parseCount('--days', flags.days, 1, LONGEST_DAYS)
    const seed = parseCount('--seed', flags.seed, 0, 999_999)
    if (flags.key !== undefined && flags.project !== undefined) {
      throw new UsageError('--project cannot be combined with --key: a key belongs to one project')
    }
    // SPOOR_API_KEY may be set for other purposes, so a project given as a flag takes precedence.
    const given = flags.key ?? (flags.project === undefined ? env.SPOOR_API_KEY : undefined)
    const address = flags.url?.replace(/\/+$/, '') ?? (await requireServer(env, Boolean(given)))
    const project = flags.project ?? 'default'
    // Loaded here because --help does not need this module.
    const { recordDemo } = await import('../../../lib/demo/record.ts')
    const total = count ?? WRITTEN_OUT
    const show = (recorded: number) =>
      progress.show(seconds => `${recorded} of ${total} traces, ${Math.round(recorded / seconds)} per second`)
    const record = (keys: DemoKeys) => recordDemo(address, keys, { count, days, seed }, show)
    const traces = given ? await record([given]) : await recordWithOwnKeys(env, project, total > WRITTEN_OUT, record)
    progress.clear()
    const keyUsed = given ? (flags.key === undefined ? 'SPOOR_API_KEY' : '--key') : `a temporary key in ${project}`
    print({ address, key: keyUsed, traces }, describe(address, keyUsed, traces))
  }
})

function parseCount(flag: string, text: string | undefined, least: number, most: number): number | undefined {
  if (text === undefined) return undefined
  const count = /^\d{1,6}$/.test(text) ? Number(text) : -1
  if (count >= least && count <= most) return count
  throw new UsageError(`${flag} must be from ${least} to ${most}, not ${JSON.stringify(text)}`)
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
  throw new AdminError('no server is running: start one with `spoor serve`, or pass its address with --url')
}

async function recordWithOwnKeys(
  env: NodeJS.ProcessEnv,
  project: string,
  hasEnvironments: boolean,
  record: (keys: DemoKeys) => Promise<RecordedDemo[]>
): Promise<RecordedDemo[]> {
  return withDatabase(env, async ({ sql, making }) => {
    const request = { project, label: 'demo', scopes: ['traces:write' as const], expiresInDays: 1 }
    const made: IssuedKey[] = []
    try {
      for (const environment of hasEnvironments ? DEMO_ENVIRONMENTS : [undefined]) {
        made.push(await createKey(sql, making, { ...request, environment }))
      }
      const [first, ...others] = made.map(({ key }) => key)
      return await record([first!, ...others])
    } finally {
      for (const { keyId } of made) await revokeKey(sql, keyId)
    }
  })
}

/** Maximum number of traces listed. The latest traces are listed. */
const MOST_SHOWN = 12

function describe(address: string, keyUsed: string, traces: readonly RecordedDemo[]): string {
  const shown = traces.slice(-MOST_SHOWN)
  const rows = shown.map(({ id, name, state, scores }) => [id, name, state, scores])
  return [
    `Recorded ${traces.length} traces at ${address} with ${keyUsed}` +
      `${shown.length < traces.length ? '; the last are' : ''}:`,
    '',
    table(['TRACE', 'NAME', 'STATUS', 'SCORES'], rows, ''),
    '',
    `View them at ${address}/app (\`spoor user link owner\` creates a sign-in link for the first user)`,
    '',
    'To read them, use a key with the scope traces:read:',
    '',
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" '${address}/api/v1/traces?tag=demo'`,
    `  curl -sS -H "Authorization: Bearer $SPOOR_API_KEY" ${address}/api/v1/traces/${shown[0]!.id}`
  ].join('\n')
}
