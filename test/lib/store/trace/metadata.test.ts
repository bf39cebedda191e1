import t from 'tap'
import { MAX_DOCUMENT_BYTES } from '../../../../lib/schema/input.ts'
import { readProject } from '../../../../lib/store/projects/projects.ts'
import { patchMetadata } from '../../../../lib/store/trace/metadata.ts'
import { testDatabase } from '../../../fixtures/database/database.ts'
import { freshId, seedProject, seedTraces } from '../../../fixtures/database/seed.ts'

t.test('patching metadata', async t => {
  const { sqlAccess } = await testDatabase(t)
  const projectId = await sqlAccess.write(seedProject)
  const makeTrace = async (metadata: string | null, documentBytes = 1000) => {
    const id = freshId(32)
    await sqlAccess.write(sql => seedTraces(sql, projectId, [{ id, metadata, documentBytes, estimatedBytes: 5000 }]))
    return id
  }
  const patch = (id: string, text: string) => sqlAccess.write(sql => patchMetadata(sql, projectId, id, text))
  const stored = (id: string) =>
    sqlAccess.read(async sql => {
      const [row] = await sql`
        select metadata, version, document_bytes as "documentBytes", estimated_bytes as "estimatedBytes",
          metadata_updated_at as "updatedAt", body_hash as "bodyHash"
        from traces where project_id = ${projectId} and id = ${id}`
      return { ...row! }
    })
  const totalBytes = async () => (await sqlAccess.read(sql => readProject(sql, projectId)))?.estimatedBytes

  for (const [claim, before, change, after] of [
    ['adds keys to none', null, '{"a":1}', '{"a":1}'],
    ['replaces a key outright and keeps the others', '{"a":{"x":1},"b":2}', '{"a":{"y":2}}', '{"a":{"y":2},"b":2}'],
    ['sets a key to null', '{"a":1}', '{"a":null}', '{"a":null}'],
    [
      'keeps numbers that a double cannot hold',
      '{"a":12345678901234567890}',
      '{"b":1e400}',
      '{"a":12345678901234567890,"b":1e400}'
    ],
    [
      'accepts any key',
      '{"":1}',
      '{"__proto__":{"x":1},"a.b":"\\u0000\\ud800"}',
      '{"":1,"__proto__":{"x":1},"a.b":"\\u0000\\ud800"}'
    ]
  ] as const) {
    await t.test(claim, async t => {
      const id = await makeTrace(before)
      const old = await stored(id)
      const bytesBefore = (await totalBytes())!
      t.strictSame(await patch(id, change), { metadata: after, changed: true })
      const added = Buffer.byteLength(after) - Buffer.byteLength(before ?? '{}')
      const now = await stored(id)
      t.match(now, {
        metadata: after,
        documentBytes: 1000 + added,
        estimatedBytes: 5000 + added,
        bodyHash: old.bodyHash,
        updatedAt: /^20/
      })
      t.not(now.version, old.version)
      t.equal(await totalBytes(), bytesBefore + added)
    })
  }

  for (const [claim, before, change] of [
    ['an empty patch', '{"a":1}', '{}'],
    ['an empty patch of empty metadata', null, '{}'],
    ['equal values in another order', '{"a":{"x":1,"y":[1,2]},"b":2}', '{"b":2,"a":{"y":[1,2],"x":1}}'],
    ['another spelling of the same number', '{"a":100}', '{"a":1e2}']
  ] as const) {
    await t.test(`${claim} changes nothing and writes nothing`, async t => {
      const id = await makeTrace(before)
      const old = await stored(id)
      t.strictSame(await patch(id, change), { metadata: before ?? '{}', changed: false })
      t.strictSame(await stored(id), old)
      t.equal(old.updatedAt, null)
    })
  }

  await t.test('is limited by the document size, counted in bytes', async t => {
    const [fits, exceeds] = [await makeTrace(null), await makeTrace(null)]
    // The trace has 1000 bytes with metadata {}. {"k":"…"} has 8 bytes more than its value, and é has two bytes.
    const room = MAX_DOCUMENT_BYTES - 1000 + 2 - 8
    const value = (bytes: number) => `{"k":"${'é'.repeat(bytes >> 1)}${'x'.repeat(bytes & 1)}"}`
    t.match(await patch(fits, value(room)), { changed: true })
    await t.rejects(patch(exceeds, value(room + 1)), { code: 'payload_too_large' })
    t.match(await stored(exceeds), { metadata: null, documentBytes: 1000 })
    t.match(await patch(fits, '{"k":"short"}'), { changed: true }, 'and a shorter value frees space')
  })

  await t.test('of different keys concurrently loses none', async t => {
    const id = await makeTrace('{"start":true}')
    const keys = Array.from({ length: 20 }, (_, i) => `k${i}`)
    const answers = await Promise.all(keys.map((key, i) => patch(id, `{"${key}":${i}}`)))
    t.ok(answers.every(answer => answer?.changed))
    const { metadata, documentBytes } = await stored(id)
    t.strictSame(JSON.parse(metadata), { start: true, ...Object.fromEntries(keys.map((key, i) => [key, i])) })
    t.equal(documentBytes, 1000 + Buffer.byteLength(metadata) - Buffer.byteLength('{"start":true}'))
  })

  await t.test('is later than the previous patch, whatever the clocks say', async t => {
    const id = await makeTrace(null)
    const ahead = '2999-01-01T00:00:00.000Z'
    await sqlAccess.write(sql => sql`update traces set metadata_updated_at = ${ahead} where id = ${id}`)
    await patch(id, '{"a":1}')
    t.equal((await stored(id)).updatedAt, '2999-01-01T00:00:00.000001Z')
  })

  await t.test('does not find a trace that is missing or in another project', async t => {
    const id = await makeTrace(null)
    t.equal(await patch('ee'.repeat(16), '{}'), undefined)
    t.equal(await sqlAccess.write(sql => patchMetadata(sql, projectId + 1, id, '{"a":1}')), undefined)
    t.equal((await stored(id)).metadata, null)
  })
})
