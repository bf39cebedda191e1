import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import t from 'tap'
import { NODE } from '../fixtures/node.ts'
import { testService } from '../fixtures/service/service.ts'
import { configurationFor, runForJson } from '../fixtures/service/spoor.ts'
import { guideCommands, guideExamples } from './guide.ts'

const run = promisify(execFile)
const TSC = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))

/** As strict as a reader's project may be. */
const TSCONFIG = {
  compilerOptions: {
    target: 'es2023',
    module: 'nodenext',
    types: ['node'],
    strict: true,
    noUncheckedIndexedAccess: true
  },
  include: ['*.ts']
}

t.test("the guide's examples run as they stand", async t => {
  const { url, call, database } = await testService(t)
  const { text: html } = await call('GET', '/docs')
  const examples = guideExamples(html)
  t.equal(examples.length, html.split('<figure>').length - 1, 'all of them are found')

  const [create = '', keep = ''] = guideCommands(html)
  const [npx, spoor, ...args] = create.split(' ')
  t.same([npx, spoor], ['npx', 'spoor'])
  const { key } = await runForJson(args, configurationFor(database))
  t.ok(key.startsWith(keep.slice(keep.indexOf('=') + 1).replace('…', '')), 'the key looks as the guide says')
  const env = { ...process.env, SPOOR_KEY: key }

  t.test('in curl, with the answers that are shown', async t => {
    for (const tool of ['curl', 'openssl']) {
      if (await isInstalled(tool)) continue
      t.comment(`${tool} is not installed: the curl examples were not run.`)
      return
    }
    for (const { title, sh, answer } of examples) {
      t.match(sh, url, `${title} names this server`)
      const { stdout } = await run('sh', ['-euc', sh], { env })
      const answers = stdout.split(/(?<=\})(?=\{)/).map(text => JSON.parse(text))
      for (const { error } of answers) t.equal(error, undefined, title)
      if (answer !== undefined) t.same(shapeOf(answers.at(-1)), shapeOf(JSON.parse(answer)), title)
    }
  })

  t.test('in TypeScript', async t => {
    const sources = examples.map(({ ts }, place) => [`example-${place}.ts`, ts])
    const folder = t.testdir({ ...Object.fromEntries(sources), 'tsconfig.json': JSON.stringify(TSCONFIG) })
    const node = (...args: string[]) => run(NODE[0], [...NODE.slice(1), ...args], { env })
    await node(TSC, '-p', folder)
    for (const [place, { title, ts }] of examples.entries()) {
      t.match(ts, url, `${title} names this server`)
      const { stdout, stderr } = await node(`${folder}/example-${place}.js`)
      t.equal(stderr, '', title)
      t.not(stdout, '', `${title} shows what it did`)
      t.notMatch(stdout, /\berror: /, title)
    }
  })

  t.test('and leave nothing but the streamed traces behind', async t => {
    const { traces } = (await call('GET', '/api/v1/traces')).body
    for (const { name, status, spanCount } of traces) {
      t.same([name, status, spanCount], ['draft-newsletter', 'ok', 1])
    }
  })
})

async function isInstalled(tool: string): Promise<boolean> {
  return run(tool, ['--version']).then(
    () => true,
    error => error.code !== 'ENOENT'
  )
}

/** A value with the names of its fields, and types for their values. */
function shapeOf(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value === null ? 'null' : typeof value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, shapeOf(each)]))
}
