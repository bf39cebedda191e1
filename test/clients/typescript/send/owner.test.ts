/** Traces on disk are sent to the project for which they were recorded, or they stay on disk and are reported. */
import { readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import fc from 'fast-check'
import t, { type Test } from 'tap'
import { Spoor, type SpoorOptions } from '../../../../clients/typescript/index.ts'
import { Trace } from '../../../../clients/typescript/record/trace.ts'
import { newDelivery } from '../../../../clients/typescript/send/delivery.ts'
import { claim, type Keys, Owner } from '../../../../clients/typescript/send/owner.ts'
import { Spool } from '../../../../clients/typescript/send/spool.ts'
import { adoptFiles } from '../../../../clients/typescript/send/spool-adoption.ts'
import { rotateKey } from '../../../../lib/admin/keys.ts'
import { collecting } from '../../../fixtures/client/collecting.ts'
import { missing, startApplication } from '../../../fixtures/client/run.ts'
import { testFolder } from '../../../fixtures/folder.ts'
import { freePort } from '../../../fixtures/ports.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { until } from '../../../fixtures/until.ts'

const MIB = 1024 * 1024
const keyOf = (letter: string, secret = 's') => `spoor_live_${letter.repeat(16)}_${secret.repeat(43)}`
const ownerOf = (key: string, url = 'http://localhost:8787', keys?: Keys) => new Owner({ url, key }, keys)

/** Leaves a trace in a folder, as a process that has ended would. Returns the trace's id. */
function leave(folder: string, owner: Owner, name = 'left'): string {
  const { recorder, parts } = collecting()
  const trace = new Trace(recorder, name)
  trace.end({ status: 'ok' })
  const spool = new Spool(folder, MIB, owner)
  spool.write(newDelivery(trace.traceId, name, parts))
  spool.release()
  return trace.traceId
}

/** Renames a folder's files to the shorter names that version 1.0.0-rc.1 used. */
function forget(folder: string): void {
  for (const name of readdirSync(folder)) {
    renameSync(join(folder, name), join(folder, `${name.split('-').slice(0, 4).join('-')}.spoor`))
  }
}

t.test("an entry is for one server, project and environment, whatever the server's address", t => {
  const destinations = (urls: readonly string[], project = 'p', environment: string | null = null) =>
    urls.map(url => {
      const owner = ownerOf(keyOf('a'), url)
      owner.learn(project, environment)
      return owner.destination
    })
  const same = [
    'http://localhost:8787',
    'http://127.0.0.1:8787/',
    'http://[::1]:8787',
    'http://LOCALHOST:8787//',
    'http://name:secret@localhost:8787'
  ]
  t.equal(new Set(destinations(same)).size, 1)
  t.equal(new Set(destinations(['https://x.example', 'https://x.example:443/'])).size, 1)
  const others = [
    ...destinations(['http://localhost:8788', 'http://localhost:8787/base', 'http://x.example', 'https://x.example']),
    ...destinations(same.slice(0, 1), 'q'),
    ...destinations(same.slice(0, 1), 'p', 'production')
  ]
  t.equal(new Set([...destinations(same), ...others]).size, 7)
  t.end()
})

t.test("names contain a key's id, but no part of its secret", t => {
  t.equal(ownerOf(keyOf('a')).mark, `-${'a'.repeat(16)}.spoor`)
  t.equal(ownerOf(`my_live_prefix${keyOf('b')}`).keyId, 'b'.repeat(16))
  for (const odd of ['key', 'sk-secret', `${keyOf('c')}x`]) {
    t.match(ownerOf(odd).mark, /^-[0-9a-f]{16}\.spoor$/)
    t.notMatch(ownerOf(odd).mark, odd)
    t.equal(ownerOf(odd).mark, ownerOf(odd).mark)
  }
  t.end()
})

t.test('whichever processes come and go, an entry is taken only for its project, and none is lost', async t => {
  const folder = await testFolder(t)
  // The keys, each with its project and environment. The first three keys belong to the same project and environment.
  const keys = [
    { key: keyOf('a'), project: 'p', environment: null },
    { key: keyOf('b'), project: 'p', environment: null },
    { key: keyOf('c'), project: 'p', environment: null },
    { key: keyOf('d'), project: 'p', environment: 'production' },
    { key: keyOf('e'), project: 'q', environment: null }
  ]
  const acts = fc.array(fc.tuple(fc.nat(4), fc.boolean(), fc.constantFrom('leave', 'take', 'keep')), { maxLength: 16 })
  fc.assert(
    fc.property(acts, history => {
      // The waiting traces by id, each with its key and whether its project is known.
      const waiting = new Map<string, { readonly by: number; readonly isKnown: boolean }>()
      for (const [by, isKnown, act] of history) {
        const { key, project, environment } = keys[by]!
        const owner = ownerOf(key)
        if (isKnown) owner.learn(project, environment)
        if (act === 'leave') {
          waiting.set(leave(folder, owner), { by, isKnown })
          continue
        }
        const ours = [...waiting].filter(([, { by: other, isKnown: isOtherKnown }]) => {
          const { project: itsProject, environment: itsEnvironment } = keys[other]!
          const isSame = itsProject === project && itsEnvironment === environment
          return other === by || (isKnown && isOtherKnown && isSame)
        })
        const spool = new Spool(folder, MIB, owner)
        const { files, others } = adoptFiles(spool, 100, { isSettled: true })
        t.same(files.map(file => spool.read(file)?.traceId).sort(), ours.map(([id]) => id).sort())
        t.ok([...others.values()].reduce((sum, each) => sum + each, 0) <= waiting.size - ours.length)
        if (act === 'take') for (const file of files) spool.remove(file)
        spool.release()
        for (const [id, entry] of ours) {
          if (act === 'take') waiting.delete(id)
          // The project is known from now on if the entry was recorded with the same key.
          else if (entry.by === by) waiting.set(id, { by, isKnown: entry.isKnown || isKnown })
        }
      }
      t.equal(readdirSync(folder).length, waiting.size)
      for (const name of readdirSync(folder)) renameSync(join(folder, name), join(folder, '..', `${name}.done`))
    }),
    { numRuns: 10 }
  )
})

t.test('files of an earlier version are taken by a process with one key, and left by a process with several', t => {
  // Other tests in this process have already used other keys.
  const keys: Keys = new Map()
  const of = (letter: string) => ownerOf(keyOf(letter), undefined, keys)
  const owner = of('a')
  owner.register('/spool')
  const old = `1-${'0'.repeat(32)}-1-1.spoor`
  t.equal(claim(old, '/spool', owner), 'take')
  of('a').register(undefined)
  t.equal(claim(old, '/spool', owner), 'take', 'another client of the same key')
  const other = of('b')
  other.register('/spool')
  t.equal(claim(old, '/spool', owner), 'other')
  const its = `1-${'0'.repeat(32)}-1-1${other.mark}`
  t.equal(claim(its, '/spool', owner), 'spare', 'here it belongs to another client')
  t.equal(claim(its, '/elsewhere', owner), 'other')
  t.end()
})

t.test('against a server', async t => {
  const service = await testService(t)
  const { url, makeKey, makeProject, database, config } = service
  await makeProject('other')
  const [a, b] = [(await makeKey()).key, (await makeKey({ project: 'other' })).key]
  const nowhere = `http://127.0.0.1:${await freePort()}`
  const namesOf = async (key: string, tag: string) => {
    const { body } = await service.call('GET', `/api/v1/traces?limit=200&tag=${tag}`, { key })
    return body.traces.map(({ name }: { name: string }) => name).sort()
  }
  const make = (t: Test, key: string, spool: string, options: SpoorOptions = {}) => {
    const said: string[] = []
    const spoor = new Spoor({ url, key, spool, onProblem: problem => said.push(problem), ...options })
    t.teardown(() => spoor.close({ timeoutMs: 10 }))
    return { spoor, said }
  }

  t.test('two clients of different projects share a spool during an outage, and each sends its own traces', async t => {
    const spool = await testFolder(t)
    const away = [make(t, a, spool, { url: nowhere }), make(t, b, spool, { url: nowhere })]
    for (let i = 0; i < 4; i++) {
      for (const [place, { spoor }] of away.entries()) spoor.trace(`of ${place}`, { tags: ['outage'] }, () => i)
    }
    for (const { spoor } of away) await spoor.close({ timeoutMs: 10 })
    t.equal(readdirSync(spool).length, 8)
    const [one, two] = [make(t, a, spool), make(t, b, spool)]
    for (const { spoor, said } of [one, two]) {
      await spoor.adopt()
      t.match(await spoor.close({ timeoutMs: 30_000 }), { sent: 4, kept: 0 })
      t.same(said, [])
    }
    t.same(await namesOf(a, 'outage'), Array(4).fill('of 0'))
    t.same(await namesOf(b, 'outage'), Array(4).fill('of 1'))
    t.same(readdirSync(spool), [])
  })

  t.test('after a rotation, the new key sends waiting traces, and keys of other projects do not', async t => {
    const spool = await testFolder(t)
    const { key: old, keyId } = await makeKey()
    const production = await makeKey({ environment: 'production' })
    const { spoor } = make(t, old, spool)
    spoor.trace('sent', { tags: ['rotated'] }, () => 1)
    t.match(await spoor.flush(), { sent: 1 })
    // The client itself adopts traces every half minute.
    await spoor.adopt()
    const making = { keyPrefix: config.keyPrefix, digestSecret: database.digestSecret }
    const rotated = await database.pool.run(sql => rotateKey(sql, making, keyId))
    await until(async () => (await service.call('GET', '/api/v1/key', { key: old })).status === 401)
    for (let i = 0; i < 3; i++) spoor.trace('kept', { tags: ['rotated'] }, () => i)
    t.match(await spoor.close({ timeoutMs: 5000 }), { sent: 1, kept: 3, lostCount: 0 })

    for (const key of [b, production.key]) {
      const { spoor, said } = make(t, key, spool)
      for (let looks = 0; looks < 3; looks++) t.equal(await spoor.adopt(), 0)
      t.equal(spoor.left, 3)
      t.equal(said.length, 1, 'said once')
      t.match(said[0], `traces left in ${spool}: 3, recorded with another key (${keyId})`)
      await spoor.close()
      t.equal(readdirSync(spool).length, 3)
    }
    const next = make(t, rotated.key, spool)
    await next.spoor.adopt()
    t.match(await next.spoor.close({ timeoutMs: 30_000 }), { sent: 3, kept: 0, problems: [] })
    t.same(await namesOf(a, 'rotated'), ['kept', 'kept', 'kept', 'sent'])
    t.same(await namesOf(b, 'rotated'), [])
    t.same(readdirSync(spool), [])
  })

  t.test(
    'an entry that never learned its project is taken only by its own key, wherever the server is now',
    async t => {
      const spool = await testFolder(t)
      const { key, keyId } = await makeKey()
      leave(spool, ownerOf(key, nowhere))
      const { spoor, said } = make(t, a, spool)
      t.equal(await spoor.adopt(), 0)
      t.match(said, [new RegExp(`: 1, recorded with another key \\(${keyId}\\)`)])
      const own = make(t, key, spool).spoor
      await own.adopt()
      t.match(await own.close({ timeoutMs: 30_000 }), { sent: 1, kept: 0 })
    }
  )

  t.test('files of an earlier version are sent by a process with one key, without being asked', async t => {
    const spool = await testFolder(t)
    const left = [leave(spool, ownerOf(a)), leave(spool, ownerOf(a))]
    forget(spool)
    // The process has several keys.
    const { spoor, said } = make(t, a, spool)
    t.equal(await spoor.adopt(), 0)
    t.match(said, [/: 2, recorded with another key \(unknown\)/])
    const app = startApplication(t, { traces: 0, end: 'wait', options: { url, key: a, spool } })
    await until(async () => (await missing(url, a, left, 0)).length === 0)
    app.kill('SIGTERM')
    t.equal((await app.ended).err, '')
    t.same(readdirSync(spool), [])
  })
})
