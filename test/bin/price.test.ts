import t from 'tap'
import { testDatabase } from '../fixtures/database/database.ts'
import { configurationFor, jsonHere, runHere } from '../fixtures/service/spoor.ts'

t.test('prices are set, listed and removed, for all projects and for one', async t => {
  const database = await testDatabase(t)
  const env = configurationFor(database)
  await jsonHere(['account', 'create', 'owner'], env)
  await jsonHere(['project', 'create', 'Default'], env)
  const price = (args: string) => jsonHere(['price', ...args.split(' ')], env)

  const all = { project: null, model: 'm', from: null, input: 2.5, output: 10, cacheRead: null, cacheWrite: null }
  t.strictSame(await price('set m --input 1 --output 10'), { ...all, input: 1 })
  t.strictSame(await price('set m --input 2.5 --output 10'), all, 'replacing the previous one')
  const own = {
    ...all,
    project: 'default',
    from: '2026-07-01T00:00:00.000Z',
    input: 0,
    output: 0,
    cacheRead: 0.5,
    cacheWrite: 1
  }
  t.strictSame(
    await price(
      'set m --input 0 --output 0 --cache-read 0.5 --cache-write 1 --from 2026-07-01T00:00:00Z --project default'
    ),
    own
  )
  await database.pool.run(sql => sql`insert into unpriced_models (project_id, model, calls) values (1, 'mine', 1204)`)
  const listing = await price('list')
  t.match(listing, { prices: [all, own], unpriced: [{ project: 'default', model: 'mine', calls: 1204 }] })
  t.same(await price('list --project default'), listing)
  const { out } = await runHere(['price', 'list'], env)
  t.match(out, /^m +default +2026-07-01T00:00:00\.000Z +0 +0 +0\.5 +1$/m)
  t.match(out, /^mine +default +1204 /m)
  t.match((await runHere(['status', '--no-server'], env)).out, /^no price +mine, 1,204 calls in default$/m)

  t.same(await price('remove m --project default --dry-run'), [own], 'only shown')
  t.match(await runHere(['price', 'remove', 'm', '--dry-run'], env), {
    out: /^MODEL .*\nm +all .*\nNothing was changed. Without --dry-run, these prices would be removed\.\n$/
  })
  t.match((await price('list')).prices, [all, own])
  t.same(await price('remove m --project default'), [own])
  t.match(await runHere(['price', 'remove', 'm', '--project', 'default'], env), {
    code: 1,
    err: /there is no matching price for "m" in project default/
  })
  t.same(await price('remove m'), [all])
  const acts = (await jsonHere(['audit'], env)).filter(({ action }: { action: string }) => action.startsWith('price.'))
  t.match(acts, [
    { action: 'price.set', detail: { model: 'm', input: 1, output: 10 } },
    { action: 'price.set', detail: { input: 2.5 } },
    { action: 'price.set', project: 'default', detail: { cacheRead: 0.5, from: own.from } },
    { action: 'price.remove', project: 'default', detail: { model: 'm' } },
    { action: 'price.remove', project: null, detail: { model: 'm' } }
  ])
})

t.test('an invalid price is rejected', async t => {
  const env = configurationFor(await testDatabase(t))
  const cases: [string, RegExp, number][] = [
    ['set m --input 1', /--output/, 2],
    ['set m --input -1 --output 1', /--input/, 2],
    [
      'set m --input 1e3 --output 1',
      /--input must be a price in US dollars per million tokens, such as 2\.50, not "1e3"/,
      2
    ],
    ['set m --input 1000001 --output 1', /a price must be from 0 to 1000000 US dollars/, 2],
    ['set m --input 1 --output 1 --from soon', /--from must be an ISO 8601 date/, 2],
    ['set m --input 1 --output 1 --project none', /there is no project "none"/, 1],
    ['remove m', /there is no matching price for "m": see `spoor price list`/, 1]
  ]
  for (const [args, err, code] of cases) t.match(await runHere(['price', ...args.split(' ')], env), { code, err }, args)
})
