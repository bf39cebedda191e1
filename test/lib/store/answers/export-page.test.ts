/** Tests pages of an export as bytes. test/lib/moving/export-project.test.ts tests their contents. */
import t from 'tap'
import { addMessages } from '../../../../lib/store/trace/messages.ts'
import { ingestBody, span } from '../../../fixtures/bodies/bodies.ts'
import { exportLines } from '../../../fixtures/database/moving.ts'
import { testService } from '../../../fixtures/service/service.ts'

const MESSAGES = { spanId: 'cd'.repeat(8), micros: 5, place: 0, digest: 'ef'.repeat(16), output: null }

t.test(
  'non-ASCII texts are the same as in responses, packed or not, and in messages that arrived separately',
  async t => {
    const service = await testService(t)
    const { database, call } = service
    const odd = 'na\u00efve \u6f22\u5b57 \u{1f600} \u2028 \u0001 "\\'
    const { trace } = ingestBody({
      name: odd,
      tags: [odd, '\u00fc,{}"'],
      metadata: { [odd]: odd },
      spans: [span({ name: odd, input: odd.repeat(200), attributes: { [odd]: '\ud800' } }), span({ output: odd })]
    })
    t.match(await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } }), { status: 201 })
    const score = { name: 'quality', dataType: 'categorical', value: odd, comment: odd }
    t.match(await call('POST', `/api/v1/traces/${trace.id}/scores`, { body: score }), { status: 201 })
    await database.pool.run(sql =>
      addMessages(sql, 1, [{ ...MESSAGES, traceId: trace.id, input: JSON.stringify(odd) }])
    )

    const [line] = (await exportLines(database, 'default')).map(each => JSON.parse(each))
    const { body: shown } = await call('GET', `/api/v1/traces/${trace.id}`)
    t.match(shown.trace, { name: odd, tags: trace.tags, metadata: { [odd]: odd } })
    const { keyId, ...exported } = line.trace
    t.same(
      { ...line, trace: { ...exported, environment: null }, recorded: undefined },
      { ...shown, recorded: undefined }
    )
    t.match(line.recorded.messages, [{ input: odd }])
  }
)
