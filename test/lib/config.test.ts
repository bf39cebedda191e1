import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { availableParallelism } from 'node:os'
import { join, resolve } from 'node:path'
import t from 'tap'
import { readConfig, VARIABLES } from '../../lib/config.ts'
import { parallelismOf } from '../../lib/limits/parallelism.ts'
import { testFolder } from '../fixtures/folder.ts'

t.test('every setting has a default', t => {
  t.strictSame(readConfig({}), {
    databaseUrl: undefined,
    init: { project: undefined, key: undefined, owner: undefined },
    repackAfterMs: 600_000,
    dataDir: resolve('data'),
    host: '127.0.0.1',
    port: 8787,
    grpcPort: undefined,
    grpcTls: undefined,
    baseUrl: undefined,
    hsts: true,
    securityContacts: [],
    auditViews: false,
    keyPrefix: 'spoor',
    keyDigestSecret: undefined,
    previousKeyDigestSecret: undefined,
    trialTraces: undefined,
    storageLimitBytes: 10 * 1024 ** 3,
    idleCompleteMs: 600_000,
    maxSpans: 10_000,
    tagNames: [],
    maxTraceBytes: 256 * 1024 ** 2,
    computesCosts: true,
    workers: availableParallelism(),
    processes: 1,
    databaseConnections: parallelismOf().connections,
    allowedOrigins: [],
    dashboard: true,
    publicLinks: false,
    authProxy: undefined,
    oidc: undefined,
    logLevel: 'info',
    logFormat: undefined,
    logRequests: 'all',
    metricsProjects: false,
    trustProxy: [],
    autoMigrate: true,
    command: 'spoor',
    shutdownGraceMs: 3000
  })
  t.equal(readConfig({ OTLP_IDLE_COMPLETE: 'off' }).idleCompleteMs, undefined)
  t.strictSame(
    readConfig({ PORT: '', DATABASE_URL: '  ', BASE_URL: '' }),
    readConfig({}),
    'an empty value counts as unset'
  )
  t.end()
})

t.test('a sign-in proxy is configured with its addresses', t => {
  const names = { AUTH_PROXY_HEADER: 'X-Forwarded-Email', AUTH_PROXY_FROM: '127.0.0.1, 10.0.0.0/8,::1,fd00::/8' }
  const from = ['127.0.0.1', '10.0.0.0/8', '::1', 'fd00::/8']
  t.strictSame(readConfig(names).authProxy, {
    header: 'x-forwarded-email',
    from,
    role: undefined,
    signOutUrl: undefined
  })
  const more = { AUTH_PROXY_ROLE: 'viewer', AUTH_PROXY_SIGN_OUT_URL: 'https://id.example.com/out' }
  t.match(readConfig({ ...names, ...more }).authProxy, { role: 'viewer', signOutUrl: 'https://id.example.com/out' })
  const both = /AUTH_PROXY_HEADER and AUTH_PROXY_FROM must both be set, or neither/
  t.throws(() => readConfig({ AUTH_PROXY_HEADER: names.AUTH_PROXY_HEADER }), both)
  t.throws(() => readConfig({ AUTH_PROXY_FROM: names.AUTH_PROXY_FROM }), both)
  for (const wrong of ['localhost', '10.0.0.0/33', '10.0.0.0/', '10.0.0/8', '::1/129', '1.2.3.4/8/8', '*']) {
    const read = () => readConfig({ ...names, AUTH_PROXY_FROM: wrong })
    t.throws(read, { message: /^AUTH_PROXY_FROM must be addresses or networks/ }, wrong)
  }
  t.end()
})

t.test('an OpenID Connect provider is configured completely, with the people who may sign in', t => {
  const names = {
    BASE_URL: 'https://spoor.example.com',
    OIDC_ISSUER: 'https://id.example.com/realms/us',
    OIDC_CLIENT_ID: 'spoor',
    OIDC_CLIENT_SECRET: 'secret'
  }
  const rules = 'groups=admins:owner, https://example.com/roles=a:b:member,realm_access.roles=x=y:viewer,*:viewer'
  t.strictSame(readConfig({ ...names, OIDC_DOMAINS: 'Example.com,example.org', OIDC_ROLES: rules }).oidc, {
    issuer: new URL(names.OIDC_ISSUER),
    clientId: 'spoor',
    clientSecret: 'secret',
    scopes: ['openid', 'email', 'profile'],
    domains: ['example.com', 'example.org'],
    roles: [
      { claim: 'groups', value: 'admins', role: 'owner' },
      { claim: 'https://example.com/roles', value: 'a:b', role: 'member' },
      { claim: 'realm_access.roles', value: 'x=y', role: 'viewer' },
      { claim: '*', value: '', role: 'viewer' }
    ],
    trustEmail: false,
    sessionMs: 24 * 3_600_000,
    only: false
  })
  t.match(readConfig({ ...names, OIDC_SESSION: '8h' }).oidc, { sessionMs: 8 * 3_600_000 })
  t.match(readConfig({ ...names, OIDC_SESSION: 'off' }).oidc, { sessionMs: undefined })
  t.match(readConfig({ ...names, OIDC_TRUST_EMAIL: 'on' }).oidc, { trustEmail: true })
  t.match(readConfig({ ...names, DASHBOARD_SIGN_IN: 'oidc', OIDC_SCOPES: 'openid groups' }).oidc, {
    scopes: ['openid', 'groups'],
    only: true
  })
  for (const host of ['localhost:3000', '127.0.0.1', '[::1]:9']) {
    t.equal(readConfig({ ...names, OIDC_ISSUER: `http://${host}/` }).oidc?.issuer.host, host)
  }
  const refused: [changes: NodeJS.ProcessEnv, message: RegExp][] = [
    [{ BASE_URL: '' }, /^BASE_URL must be set if OIDC_ISSUER is set/],
    [{ OIDC_ISSUER: '' }, /^OIDC_ISSUER must also be set/],
    [{ OIDC_CLIENT_ID: '', OIDC_CLIENT_SECRET: '' }, /^OIDC_CLIENT_ID and OIDC_CLIENT_SECRET must also be set/],
    [{ OIDC_ISSUER: 'id.example.com' }, /^OIDC_ISSUER must be an address/],
    [{ OIDC_ISSUER: 'http://id.example.com' }, /^OIDC_ISSUER must begin with https/],
    [{ OIDC_ISSUER: 'http://127.0.0.1.example.com' }, /^OIDC_ISSUER must begin with https/],
    [{ OIDC_SCOPES: 'email' }, /^OIDC_SCOPES must include the scope openid/],
    [{ OIDC_SESSION: '0s' }, /^OIDC_SESSION must be a duration/],
    [{ OIDC_TRUST_EMAIL: 'yes' }, /^OIDC_TRUST_EMAIL must be on or off/],
    [{ OIDC_DOMAINS: 'a@example.com' }, /^OIDC_DOMAINS must be domains/],
    [{ OIDC_ROLES: 'groups=admins' }, /^OIDC_ROLES must be rules/],
    [{ OIDC_ROLES: 'groups=admins:admin' }, /^OIDC_ROLES must be rules/],
    [{ OIDC_ROLES: '*=x:viewer:' }, /^OIDC_ROLES must be rules/],
    [{ DASHBOARD_SIGN_IN: 'password' }, /^DASHBOARD_SIGN_IN must be all or oidc/],
    [
      { DASHBOARD_SIGN_IN: 'oidc', AUTH_PROXY_HEADER: 'x-email', AUTH_PROXY_FROM: '127.0.0.1' },
      /^AUTH_PROXY_HEADER must not be set/
    ]
  ]
  for (const [changes, message] of refused) t.throws(() => readConfig({ ...names, ...changes }), { message })
  t.throws(() => readConfig({ DASHBOARD_SIGN_IN: 'oidc' }), { message: /^DASHBOARD_SIGN_IN=oidc needs OIDC_ISSUER/ })
  t.end()
})

t.test('every variable is read, whatever the others are, and is therefore in the list', t => {
  const source = readFileSync('lib/config.ts', 'utf8')
  const named = source.matchAll(/read\.(?<kind>\w+)\('(?<name>[A-Z_]+)'/g)
  const names = Array.from(named, ({ groups: { kind, name } = {} }) =>
    kind === 'secret' ? [name, `${name}_FILE`] : name
  )
  t.same([...new Set(names.flat())].sort(), [...VARIABLES].sort())
  t.end()
})

t.test('a secret can be read from a file, and is in no message', async t => {
  const folder = await testFolder(t)
  const file = join(folder, 'secret')
  const secrets: [string, string, (config: ReturnType<typeof readConfig>) => unknown][] = [
    ['KEY_DIGEST_SECRET', 'hush hush hush hush', config => config.keyDigestSecret],
    ['KEY_DIGEST_SECRET_PREVIOUS', 'hush hush hush hush', config => config.previousKeyDigestSecret],
    ['DATABASE_URL', 'postgres://me:hush@localhost/x', config => config.databaseUrl],
    ['SPOOR_INIT_KEY', `spoor_live_${'A'.repeat(16)}_${'b'.repeat(43)}`, config => config.init.key]
  ]
  for (const [name, value, read] of secrets) {
    await writeFile(file, `${value}\n`)
    t.equal(read(readConfig({ [`${name}_FILE`]: file })), value)
    const both = { [name]: value, [`${name}_FILE`]: file }
    t.throws(() => readConfig(both), { name: 'ConfigError', message: `${name} and ${name}_FILE must not both be set` })
    await writeFile(file, '\n')
    t.throws(() => readConfig({ [`${name}_FILE`]: file }), { message: `${name}_FILE points to an empty file` })
    t.throws(() => readConfig({ [`${name}_FILE`]: folder }), { message: /^\w+_FILE cannot be read: EISDIR/ })
  }
  const wrong = { SPOOR_INIT_KEY: 'spoor_live_hush', SPOOR_INIT_PROJECT: 'No Slug', SPOOR_INIT_OWNER: 'ada' }
  for (const [name, value] of Object.entries(wrong)) {
    t.throws(() => readConfig({ [name]: value }), { name: 'ConfigError', message: new RegExp(`^${name} must be`) })
  }
  t.throws(() => readConfig({ SPOOR_INIT_KEY: 'hush' }), { message: /^(?!.*hush)/ })
})

t.test('accepts every valid value', t => {
  const taken: [name: string, value: string, field: string, expected: unknown][] = [
    ['DATABASE_URL', 'postgres://me:secret@db.example.com:5433/traces', 'databaseUrl', undefined],
    ['DATABASE_URL', 'postgresql:///traces?host=/var/run/postgresql', 'databaseUrl', undefined],
    ['DATA_DIR', '/srv/spoor', 'dataDir', undefined],
    ['DATA_DIR', 'elsewhere', 'dataDir', resolve('elsewhere')],
    ['HOST', '0.0.0.0', 'host', undefined],
    ['PORT', '0', 'port', 0],
    ['PORT', ' 65535 ', 'port', 65_535],
    ['OTLP_GRPC_PORT', '4317', 'grpcPort', 4317],
    ['OTLP_IDLE_COMPLETE', '90s', 'idleCompleteMs', 90_000],
    ['OTLP_IDLE_COMPLETE', '2h', 'idleCompleteMs', 7_200_000],
    ['OTLP_MAX_SPANS', '500', 'maxSpans', 500],
    ['OTLP_TAGS', ' tenant.id, release,,release', 'tagNames', ['tenant.id', 'release']],
    ['OTLP_MAX_TRACE_BYTES', '1048576', 'maxTraceBytes', 1_048_576],
    ['REPACK_AFTER', '0s', 'repackAfterMs', 0],
    ['REPACK_AFTER', '2h', 'repackAfterMs', 7_200_000],
    ['BASE_URL', 'https://traces.example.com/', 'baseUrl', 'https://traces.example.com'],
    ['BASE_URL', 'http://localhost:8787/spoor//', 'baseUrl', 'http://localhost:8787/spoor'],
    ['KEY_PREFIX', 'my_team-1', 'keyPrefix', undefined],
    ['KEY_DIGEST_SECRET', '0123456789abcdef', 'keyDigestSecret', undefined],
    ['HSTS', 'off', 'hsts', false],
    ['AUDIT_VIEWS', 'on', 'auditViews', true],
    ['SECURITY_CONTACT', 'mailto:a@b.c, https://b.c/x', 'securityContacts', ['mailto:a@b.c', 'https://b.c/x']],
    ['TRIAL_TRACES', '0', 'trialTraces', 0],
    ['TRIAL_TRACES', '9007199254740991', 'trialTraces', Number.MAX_SAFE_INTEGER],
    ['STORAGE_LIMIT_BYTES', '1', 'storageLimitBytes', 1],
    ['WORKERS', '256', 'workers', 256],
    ['PROCESSES', '2', 'processes', 2],
    ['DATABASE_CONNECTIONS', '5', 'databaseConnections', 5],
    ['ALLOWED_ORIGINS', 'https://a.example.com, http://localhost:3000,', 'allowedOrigins', null],
    ['DASHBOARD', 'off', 'dashboard', false],
    ['LOG_LEVEL', 'silent', 'logLevel', undefined],
    ['AUTO_MIGRATE', 'false', 'autoMigrate', false],
    ['LOG_FORMAT', 'text', 'logFormat', undefined],
    ['LOG_REQUESTS', 'slow', 'logRequests', undefined],
    ['METRICS_PROJECTS', 'on', 'metricsProjects', true],
    ['PRICES', 'off', 'computesCosts', false],
    ['TRUST_PROXY', '10.0.0.0/8, ::1', 'trustProxy', ['10.0.0.0/8', '::1']],
    ['SHUTDOWN_GRACE', '0s', 'shutdownGraceMs', 0],
    ['SHUTDOWN_GRACE', '1m', 'shutdownGraceMs', 60_000]
  ]
  for (const [name, value, field, expected = value] of taken) {
    const config = readConfig({ [name]: value })
    const wanted = expected ?? ['https://a.example.com', 'http://localhost:3000']
    t.strictSame(config[field as keyof typeof config], wanted, `${name}=${value}`)
  }
  t.end()
})

t.test('rejects every invalid value in one line that names the variable', t => {
  const refused: [name: string, values: string[]][] = [
    ['DATABASE_URL', ['localhost', 'mysql://localhost/x', 'postgres', '/var/run/postgresql']],
    ['OTLP_GRPC_PORT', ['-1', '65536', 'grpc']],
    ['OTLP_IDLE_COMPLETE', ['0s', '10', '10 m', '1.5h', '-1m', '1w', 'never', '1234567s']],
    ['OTLP_MAX_SPANS', ['9', '100001', '1e3']],
    ['OTLP_TAGS', ['a,b,c,d,e,f,g,h,i,j,k', 'n'.repeat(49), 'a\tb', '\ud800']],
    ['OTLP_MAX_TRACE_BYTES', ['1000', '1073741825', '256MB']],
    ['REPACK_AFTER', ['8d', '10', 'never']],
    ['PORT', ['-1', '65536', '80.5', '0x50', 'http', '1e3', '99999999999999999999']],
    [
      'BASE_URL',
      ['example.com', 'ftp://example.com', 'https://example.com/?a=b', 'https://example.com/#a', 'https://']
    ],
    ['KEY_PREFIX', ['_live', 'a b', 'é', '-a', 'a'.repeat(33), 'a.b']],
    ['HSTS', ['yes']],
    ['AUDIT_VIEWS', ['yes']],
    ['SECURITY_CONTACT', ['a@example.com', 'mailto:a', 'http://example.com', 'https://a b']],
    ['KEY_DIGEST_SECRET', ['short', 'a'.repeat(15)]],
    ['KEY_DIGEST_SECRET_PREVIOUS', ['short']],
    ['TRIAL_TRACES', ['-1', 'ten', '9007199254740992']],
    ['STORAGE_LIMIT_BYTES', ['0', '10GB', '-5']],
    ['WORKERS', ['0', '257', 'all']],
    ['PROCESSES', ['0', '257', '1.5']],
    ['DATABASE_CONNECTIONS', ['2', '1001', 'all']],
    ['ALLOWED_ORIGINS', ['*', 'example.com', 'https://example.com/', 'https://example.com/path', 'https://a.com,*']],
    ['DASHBOARD', ['no', 'false', 'OFF']],
    ['AUTH_PROXY_HEADER', ['x forwarded', 'x:y']],
    ['AUTH_PROXY_ROLE', ['owner', 'member']],
    ['AUTH_PROXY_SIGN_OUT_URL', ['/out', 'javascript:alert(1)']],
    ['LOG_LEVEL', ['loud', 'INFO', 'warning']],
    ['AUTO_MIGRATE', ['yes', '1', 'TRUE']],
    ['LOG_FORMAT', ['pretty', 'JSON']],
    ['LOG_REQUESTS', ['some', 'off']],
    ['METRICS_PROJECTS', ['yes', 'ON', '1']],
    ['PRICES', ['no', 'OFF']],
    ['TRUST_PROXY', ['proxy', '10.0.0.0/33']],
    ['SHUTDOWN_GRACE', ['3', 'off', '11m', '-1s', '1 s']]
  ]
  for (const [name, values] of refused) {
    for (const value of values) {
      const read = () => readConfig({ [name]: value })
      t.throws(read, { name: 'ConfigError', message: new RegExp(`^${name} must [^\\n]+$`) }, `${name}=${value}`)
    }
  }
  t.end()
})

t.test('a certificate requires its key, and vice versa', t => {
  t.match(readConfig({ OTLP_GRPC_CERT: '/c.pem', OTLP_GRPC_KEY: '/k.pem' }).grpcTls, { cert: '/c.pem', key: '/k.pem' })
  for (const name of ['OTLP_GRPC_CERT', 'OTLP_GRPC_KEY']) {
    t.throws(() => readConfig({ [name]: '/x.pem' }), { name: 'ConfigError', message: /must both be set, or neither/ })
  }
  t.end()
})

t.test('error messages contain no secret', t => {
  const secrets = {
    DATABASE_URL: 'mysql://me:hush@localhost/x',
    KEY_DIGEST_SECRET: 'hush',
    BASE_URL: 'https://me:hush@localhost/?x',
    ALLOWED_ORIGINS: 'https://a.example.com,https://me:hush@localhost'
  }
  for (const [name, value] of Object.entries(secrets)) {
    try {
      readConfig({ [name]: value })
      t.fail(`${name} was accepted`)
    } catch (error) {
      t.notMatch((error as Error).message, 'hush')
    }
  }
  t.end()
})
