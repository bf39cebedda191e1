import type { IssuedKey, KeyListing, SecretReplacement } from '../../lib/admin/keys.ts'
import {
  createKey,
  findKey,
  listKeys,
  replaceKeySecret,
  revokeKey,
  revokeKeysOf,
  rotateKey,
  setKeyEnvironment
} from '../../lib/admin/keys.ts'
import { DEFAULT_SCOPES, SCOPES, type Scope } from '../../lib/schema/scopes.ts'
import { command, UsageError } from '../command.ts'
import { withDatabase } from '../database.ts'
import { table } from '../terminal/table.ts'
import { parseDays } from '../terminal/times.ts'
import { counted, relativeTime } from '../terminal/words.ts'

const EXPIRIES: Readonly<Record<string, number | undefined>> = { '30d': 30, '90d': 90, '1y': 365, never: undefined }

export const create = command({
  summary: 'Create an API key and show it once',
  flags: {
    project: { type: 'string', value: 'SLUG', required: true, about: 'the project that the key can access' },
    label: { type: 'string', value: 'L', about: "a label that describes the key's purpose" },
    scopes: {
      type: 'string',
      value: 'a,b',
      about: `any of ${SCOPES.join(', ')}; ${DEFAULT_SCOPES.join(',')} by default`
    },
    environment: {
      type: 'string',
      value: 'E',
      about: 'the environment for traces recorded with the key; none by default'
    },
    expires: {
      type: 'string',
      value: Object.keys(EXPIRIES).join('|'),
      about: 'when the key expires; never by default'
    }
  },
  examples: [
    'key create --project default',
    'key create --project default --label ci --scopes traces:write --environment staging --expires 90d',
    'key create --project default --json | jq -r .key'
  ],
  async run({ flags, env, print }) {
    const request = {
      project: flags.project,
      label: flags.label,
      scopes: parseScopes(flags.scopes),
      environment: flags.environment,
      expiresInDays: parseExpiry(flags.expires)
    }
    const key = await withDatabase(env, ({ sql, making }) => createKey(sql, making, request))
    print(key, shownOnce(key))
  }
})

export const list = command({
  summary: 'List the keys, without their secrets',
  flags: {
    project: { type: 'string', value: 'SLUG', about: 'only keys for this project' },
    expiring: { type: 'string', value: '30d', about: 'only valid keys that expire within this many days' },
    unused: { type: 'string', value: '90d', about: 'only valid keys that have not been used in this many days' }
  },
  examples: ['key list', 'key list --project default --json', 'key list --expiring 30d', 'key list --unused 90d'],
  async run({ flags, env, print }) {
    const selection = {
      expiringDays: requireDays('expiring', flags.expiring),
      unusedDays: requireDays('unused', flags.unused)
    }
    const keys = await withDatabase(env, ({ sql }) => listKeys(sql, flags.project, selection))
    const isFiltered = Object.values({ ...selection, project: flags.project }).some(value => value !== undefined)
    print(keys, keyTable(keys, isFiltered ? 'No keys match.' : NO_KEYS))
  }
})

export const rotate = command({
  summary: 'Replace a key: revoke it, and show a new key once',
  parameters: ['KEYID'],
  details: 'The new key has the same label, scopes, environment and expiry, but a different id.',
  examples: ['key rotate 4fT0qLm2XbC8vNwZ', 'key rotate 4fT0qLm2XbC8vNwZ --json'],
  async run({ parameters, env, print }) {
    const key = await withDatabase(env, ({ sql, making }) => rotateKey(sql, making, parameters.KEYID))
    print(key, `revoked key ${parameters.KEYID}\n${shownOnce(key)}`)
  }
})

export const revoke = command({
  summary: 'Revoke a key permanently',
  parameters: ['KEYID'],
  lastIsOptional: true,
  flags: {
    project: { type: 'string', value: 'SLUG', about: 'with --all, instead of KEYID: revoke the keys for this project' },
    all: { type: 'boolean', about: 'revoke every key for the project' },
    'dry-run': { type: 'boolean', about: 'show the keys without revoking them' }
  },
  details: 'Traces recorded with the key stay unchanged.',
  examples: ['key revoke 4fT0qLm2XbC8vNwZ', 'key revoke --project default --all'],
  async run({ parameters, flags, env, print }) {
    const keyId = parameters.KEYID as string | undefined
    const { project, all, 'dry-run': dryRun } = flags
    if (keyId === undefined) {
      if (project === undefined || !all) throw new UsageError('give KEYID, or --project SLUG --all')
      if (dryRun) {
        const active = (await withDatabase(env, ({ sql }) => listKeys(sql, project))).filter(
          ({ state }) => state !== 'revoked'
        )
        print(
          active,
          `${keyTable(active, NO_ACTIVE)}\nNothing was changed. Without --dry-run, these keys would be revoked.`
        )
        return
      }
      const keys = await withDatabase(env, ({ sql }) => revokeKeysOf(sql, project))
      print(keys, `revoked ${counted(keys.length, 'key')} of ${project}`)
      return
    }
    if (project !== undefined || all) throw new UsageError('--project and --all cannot be combined with KEYID')
    if (dryRun) {
      const key = await withDatabase(env, ({ sql }) => findKey(sql, keyId))
      print(key, `${keyTable([key])}\nNothing was changed. Without --dry-run, this key would be revoked.`)
      return
    }
    const key = await withDatabase(env, ({ sql }) => revokeKey(sql, keyId))
    print(key, `key ${key.keyId} is revoked`)
  }
})

export const setEnvironment = command({
  summary: 'Change the environment of traces recorded with a key',
  parameters: ['KEYID', 'E'],
  details: "E is the environment's name, or `unassigned` for none. Stored traces keep their environment.",
  examples: ['key set-environment 4fT0qLm2XbC8vNwZ production', 'key set-environment 4fT0qLm2XbC8vNwZ unassigned'],
  async run({ parameters, env, print }) {
    const key = await withDatabase(env, ({ sql }) => setKeyEnvironment(sql, parameters.KEYID, parameters.E))
    print(key, `key ${key.keyId} now records traces in ${key.environment ?? 'no environment (unassigned)'}`)
  }
})

export const replaceSecret = command({
  summary: 'Replace KEY_DIGEST_SECRET, which revokes every key',
  flags: { apply: { type: 'boolean', about: 'revoke the keys; by default, the command only counts them' } },
  details: [
    'Use this command if the secret was lost or exposed. Stop the servers, and set the new KEY_DIGEST_SECRET here and',
    'for the servers. Then run this command, start the servers, and create new keys. Stored traces stay unchanged.'
  ].join('\n'),
  examples: ['key replace-secret', 'key replace-secret --apply'],
  async run({ flags, env, print }) {
    const replacement = await withDatabase(env, ({ sql, making }) => replaceKeySecret(sql, making, flags.apply))
    print(replacement, describeReplacement(replacement))
  }
})

function describeReplacement({ keys, differs, applied }: SecretReplacement): string {
  if (!differs) return 'the keys already use this KEY_DIGEST_SECRET: there is nothing to replace'
  if (!applied) return `keys that would stop working: ${keys}. To revoke them and use this secret, add --apply.`
  return `revoked ${keys} keys. Create new keys with \`spoor key create --project SLUG\`.`
}

function parseScopes(text: string | undefined): Scope[] | undefined {
  if (text === undefined) return undefined
  const scopes = text.split(',').map(scope => scope.trim())
  const strange = scopes.find(scope => !(SCOPES as readonly string[]).includes(scope))
  if (strange === undefined) return [...new Set(scopes as Scope[])]
  throw new UsageError(`--scopes: there is no scope ${JSON.stringify(strange)}. Choose from ${SCOPES.join(', ')}`)
}

function requireDays(flag: string, text: string | undefined): number | undefined {
  const days = parseDays(text)
  if (days !== undefined || text === undefined) return days
  throw new UsageError(`--${flag} must be a number of days, such as 30d, not ${JSON.stringify(text)}`)
}

function parseExpiry(text = 'never'): number | undefined {
  if (Object.hasOwn(EXPIRIES, text)) return EXPIRIES[text]
  throw new UsageError(`--expires must be one of ${Object.keys(EXPIRIES).join(', ')}, not ${JSON.stringify(text)}`)
}

function shownOnce(key: IssuedKey): string {
  const environment = key.environment === null ? '' : `, and records traces in environment ${key.environment}`
  const expiry = key.expiresAt === null ? 'never expires' : `expires ${relativeTime(key.expiresAt)}`
  return [
    key.key,
    '',
    `The key is not shown again. Its id is ${key.keyId}; it ${expiry}.`,
    `It has ${key.scopes.join(', ')}${environment}.`
  ].join('\n')
}

const NO_ACTIVE = 'The project has no keys to revoke.'
const NO_KEYS = 'There are no keys: create one with `spoor key create --project SLUG`.'

function keyTable(keys: readonly KeyListing[], none = NO_KEYS): string {
  const rows = keys.map(key => [
    key.keyId,
    key.project,
    key.label,
    key.scopes.map(scope => scope.replace('traces:', '')).join(','),
    key.environment ?? '-',
    relativeTime(key.createdAt),
    key.lastUsedAt === null ? 'never' : relativeTime(key.lastUsedAt),
    key.state === 'revoked' ? `revoked ${relativeTime(key.revokedAt)}` : key.state,
    key.expiresAt === null ? 'never' : relativeTime(key.expiresAt)
  ])
  const heading = ['KEY ID', 'PROJECT', 'LABEL', 'SCOPES', 'ENVIRONMENT', 'CREATED', 'LAST USED', 'STATE', 'EXPIRES']
  return table(heading, rows, none)
}
