import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import t from 'tap'
import { PLAIN } from '../../../bin/terminal/started-as.ts'
import { welcome } from '../../../bin/terminal/welcome.ts'
import { SCORE_ID } from '../../../lib/openapi/examples.ts'
import { testService } from '../../fixtures/service/service.ts'
import { guideExamples, readGuide } from './guide.ts'

const run = promisify(execFile)

t.test('all examples, pasted in order, get 2xx', async t => {
  const { url, key, call } = await testService(t)
  if (!(await isInstalled('curl')) || !(await isInstalled('openssl'))) {
    t.comment('curl or openssl is not installed: the examples were not run.')
    return
  }
  /** Runs the commands with the only environment variable that they use, and checks the status of each response. */
  const paste = async (what: string, sh: string) => {
    const looking = sh.replace(/\bcurl (?:-sS )?/g, "curl -sS -o /dev/null -w '%{http_code}\\n' ")
    const { stdout } = await run('sh', ['-euc', looking], { env: { PATH: process.env.PATH, SPOOR_API_KEY: key } })
    const statuses = stdout.trim().split('\n')
    t.equal(statuses.length, sh.match(/\bcurl /g)?.length, what)
    for (const status of statuses) t.match(status, /^2\d\d$/, what)
  }

  const readme = readFileSync('README.md', 'utf8').match(/^now=[\s\S]*?(?=\n```)/m)?.[0] ?? ''
  await paste('README.md', readme.replaceAll('http://127.0.0.1:8787', url))
  const start = { key, obstacle: null, dashboard: null, isLink: false }
  const greeting = welcome(url, 'here', start, {}, PLAIN).match(/^ +curl (?:.*\\\n)*.*$/gm) ?? []
  await paste('what a start prints', greeting.join('\n'))
  const guide = await readGuide(async path => (await call('GET', path)).text)
  for (const { title, sh } of guideExamples(guide)) await paste(`the guide: ${title}`, sh)

  const { paths } = (await call('GET', '/api/v1/openapi.json')).body
  const { parameters } = (await call('GET', '/api/v1/openapi.json')).body.components
  let scoreId = ''
  for (const [template, methods] of Object.entries<Json>(paths)) {
    for (const [method, operation] of Object.entries<Json>(methods)) {
      if (template === '/api/mcp') continue
      const examples = Object.values<Json>(operation.requestBody?.content['application/json']?.examples ?? {})
      let path = template
      for (const given of operation.parameters ?? []) {
        const { in: place, name, example } = given.$ref === undefined ? given : parameters[given.$ref.split('/').at(-1)]
        if (place === 'path') path = path.replace(`{${name}}`, example)
      }
      // The server assigns the id of a score.
      path = path.replace(SCORE_ID, scoreId)
      const isOtlp = template.includes('otlp')
      for (const { value } of examples.length === 0 ? [{ value: undefined }] : examples) {
        const headers = isOtlp ? { 'content-type': 'application/json' } : {}
        const { status, body, text } = await call(method.toUpperCase(), path, { body: value, headers })
        t.ok(status >= 200 && status < 300, `${method} ${path}: ${status} ${text}`)
        scoreId = body?.score?.id ?? scoreId
      }
    }
  }
})

// biome-ignore lint/suspicious/noExplicitAny: the test traverses the whole document.
type Json = any

async function isInstalled(tool: string): Promise<boolean> {
  return run(tool, ['version']).then(
    () => true,
    error => error.code !== 'ENOENT'
  )
}
