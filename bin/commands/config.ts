import { readConfig, VARIABLES } from '../../lib/config.ts'
import { command } from '../command.ts'
import { table } from '../terminal/table.ts'

export default command({
  summary: 'Show the current configuration, with secrets masked',
  details: [
    'Shows each environment variable that is set, and the resulting value of every setting, including defaults. The',
    'command checks the variables as the server does, without opening a database. The guide, at /docs/settings on your',
    'server, describes each variable.'
  ].join('\n'),
  examples: ['config', 'config --json'],
  async run({ env, print }) {
    const { databaseUrl, keyDigestSecret, previousKeyDigestSecret, oidc, init, ...others } = readConfig(env)
    const config = {
      ...others,
      databaseUrl: databaseUrl && maskUrl(databaseUrl),
      keyDigestSecret: masked(keyDigestSecret),
      previousKeyDigestSecret: masked(previousKeyDigestSecret),
      oidc: oidc && { ...oidc, issuer: oidc.issuer.href, clientSecret: MASK },
      init: { ...init, key: masked(init.key) }
    }
    const given = VARIABLES.filter(name => env[name]?.trim())
    const variables = given.map(name => [name, show(name, env[name] as string)])
    const inForce = Object.entries(config).map(([name, value]) => [name, value === undefined ? '-' : text(value)])
    print(
      { variables: Object.fromEntries(variables), config },
      [table(['VARIABLE', 'SET TO'], variables, NONE_SET), '', table(['IN FORCE', 'VALUE'], inForce, '')].join('\n')
    )
  }
})

const MASK = '***'
const NONE_SET = 'No variables are set.'
const SECRETS: readonly string[] = [
  'KEY_DIGEST_SECRET',
  'KEY_DIGEST_SECRET_PREVIOUS',
  'OIDC_CLIENT_SECRET',
  'SPOOR_INIT_KEY'
]

const masked = (secret: string | undefined): string | undefined => secret && MASK

/** A password may be in the user part of an address or in its query. */
const maskUrl = (url: string): string =>
  url.replace(/(\/\/[^/@\s]*?):[^@\s]*@/g, `$1:${MASK}@`).replace(/([?&](?:ssl)?password=)[^&]*/g, `$1${MASK}`)

const show = (name: string, value: string): string => (SECRETS.includes(name) ? MASK : maskUrl(value))

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
