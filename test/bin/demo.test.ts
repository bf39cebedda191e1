import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { configurationFor, jsonHere, runForJson, runHere, serve } from '../fixtures/service/spoor.ts'

interface Listed {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly spanCount: number
  readonly scores: Record<string, unknown>
}

/** Returns the traces that the demo recorded, as the API lists them. */
async function listDemo(address: string, key: string, query = ''): Promise<Listed[]> {
  const response = await fetch(`${address}/api/v1/traces?tag=demo${query}`, {
    headers: { authorization: `Bearer ${key}` }
  })
  return ((await response.json()) as { traces: Listed[] }).traces
}

t.test('the demo records traces through the API that can be read back', async t => {
  const env = configurationFor(await testDatabase(t))
  const { address, key } = await serve(t, env)
  // A server with its own database does not write its address to a folder, so commands find it by HOST and PORT.
  const at = { ...env, PORT: new URL(address).port }

  const demo = await runForJson(['demo'], at)
  t.match(demo, { address, key: 'a temporary key in default' })
  const listed = await listDemo(address, key!)
  t.same(new Set(listed.map(trace => trace.id)), new Set(demo.traces.map((trace: Listed) => trace.id)))
  t.match(
    listed.map(({ name, status, spanCount, scores }) => [name, status, spanCount, Object.keys(scores).length]),
    [
      ['research-suppliers', 'running', 2, 0],
      ['draft-newsletter', 'ok', 2, 1],
      ['summarise-contract', 'error', 2, 0],
      ['handbook-search', 'ok', 4, 1],
      ['support-agent', 'ok', 5, 4],
      ['voice-note', 'ok', 1, 0],
      ['travel-planner', 'error', 8, 1],
      ['cover-advice', 'ok', 1, 1],
      ['review-change', 'ok', 9, 2],
      ['bookseller', 'ok', 3, 1],
      ['bookseller', 'ok', 3, 0],
      ['bookseller', 'ok', 2, 0]
    ]
  )
  t.same(await listDemo(address, key!, '&runsOnly=true'), listed, 'each trace is a run')
  t.match(await jsonHere(['key', 'list'], env), [{}, { label: 'demo', scopes: ['traces:write'], state: 'revoked' }])

  const again = await runHere(['demo'], { ...at, SPOOR_API_KEY: key! })
  t.match(again, { code: 0, out: /with SPOOR_API_KEY:[\s\S]*curl .*\/api\/v1\/traces\?tag=demo/ })
  t.equal((await listDemo(address, key!)).length, 24, 'every run adds its traces')
  const many = await runForJson(['demo', '--traces', '60'], { ...at, SPOOR_API_KEY: key! })
  t.equal(many.traces.length, 60)
  t.equal((await jsonHere(['key', 'list'], env)).length, 2, 'a key is sufficient')

  t.match(
    await runHere(['demo', '--project', 'nowhere'], { ...at, SPOOR_API_KEY: key! }),
    { code: 1, err: /no project "nowhere"/ },
    'a named project takes precedence over the key in the environment'
  )
  t.match(await runHere(['demo', '--project', 'default', '--key', key!], at), { code: 2, err: /--project cannot/ })

  const refused: [string[], RegExp][] = [
    [['--key', 'spoor_live_wrong'], /did not accept all traces: .*401 invalid_api_key/],
    [['--project', 'nowhere'], /no project "nowhere"/],
    [
      ['--url', 'http://127.0.0.1:2', '--key', key!],
      /http:\/\/127\.0\.0\.1:2 did not accept all traces: .*ECONNREFUSED/
    ]
  ]
  for (const count of ['11', '10001', 'many']) {
    const message = /--traces must be from 12 to 10000/
    t.match(await runHere(['demo', '--traces', count], at), { code: 2, out: '', err: message })
  }
  for (const [flag, value] of [
    ['--days', '0'],
    ['--days', '366'],
    ['--seed', '-1']
  ] as const) {
    t.match(await runHere(['demo', `${flag}=${value}`], at), { code: 2, out: '', err: `${flag} must be from` })
  }
  for (const [args, message] of refused) {
    t.match(await runHere(['demo', ...args], at), { code: 1, out: '', err: message }, args.join(' '))
  }
})

t.test('a month of traces is recorded in three environments', async t => {
  const env = configurationFor(await testDatabase(t))
  const { address, key } = await serve(t, env)
  const at = { ...env, PORT: new URL(address).port }
  const demo = await runForJson(['demo', '--traces', '150', '--days', '30'], at)
  t.equal(demo.traces.length, 150)
  for (const environment of ['production', 'staging', 'development']) {
    t.ok((await listDemo(address, key!, `&environment=${environment}&limit=5`)).length > 0, environment)
  }
  const keys = (await jsonHere(['key', 'list'], env)) as { label: string; state: string }[]
  t.same(
    keys.filter(({ label }) => label === 'demo').map(({ state }) => state),
    ['revoked', 'revoked', 'revoked']
  )
})
