import t from 'tap'
import { memberAt, nodeAt } from '../../../../../plugins/dashboard/app/content/json-text.ts'
import { firstTokenMs, tokenParts } from '../../../../../plugins/dashboard/app/trace/call-facts.ts'
import { describeCuts, storedCutsOf } from '../../../../../plugins/dashboard/app/trace/cuts.ts'

const cutsOf = (list: unknown) => {
  const text = JSON.stringify({ attributes: { 'spoor.truncated': list } })
  return storedCutsOf(text, memberAt(text, nodeAt(text)!, 'attributes'))
}

t.test('texts that were cut when stored are named where they are shown', async t => {
  const cuts = cutsOf([
    { place: 'input[3].content', bytes: 1_200_000, sha256: 'x' },
    { place: 'input.system', bytes: 9000, sha256: 'x' },
    { place: 'attributes.files', bytes: 5000, sha256: 'x' },
    { place: '4 attributes, left out', bytes: 400 }
  ])
  t.equal(describeCuts(cuts, 'input'), 'Cut when stored: [3].content (1.2 MB), system (9.0 kB).')
  t.equal(describeCuts(cuts, 'output'), undefined)
  t.equal(describeCuts(cuts, 'attributes'), 'Cut when stored: files (5.0 kB), 4 attributes, left out (400 B).')
  const gone = cutsOf([{ place: 'output', bytes: 2000, limit: 'OTLP_MAX_TRACE_BYTES' }])
  t.equal(describeCuts(gone, 'output'), 'Not stored: 2.0 kB. The trace has reached OTLP_MAX_TRACE_BYTES.')
  const many = Array.from({ length: 7 }, (_, i) => ({ place: `input[${i}]`, bytes: 600 }))
  t.match(describeCuts(cutsOf(many), 'input'), / and 4 more\.$/)
  t.equal(describeCuts(cutsOf([{ place: 'input', bytes: 600 }]), 'input'), 'Cut when stored: this value (600 B).')
})

t.test('attributes that only resemble a list of cuts are ignored', async t => {
  for (const list of [null, 7, 'x', {}, [1], [{ place: 1, bytes: 2 }], [{ place: 'input' }], [null]])
    t.same(cutsOf(list), [])
  t.same(storedCutsOf('[]', nodeAt('[]')), [])
  t.same(storedCutsOf('', undefined), [])
})

t.test('the time to the first token is read in its unit', async t => {
  const ms = (attributes: object) => firstTokenMs(JSON.stringify(attributes), nodeAt(JSON.stringify(attributes)))
  t.equal(ms({ a: 1, 'gen_ai.server.time_to_first_token': 0.32 }), 320)
  t.equal(ms({ 'ai.response.msToFirstChunk': 12.5 }), 12.5)
  t.equal(ms({ ttft_ms: '12' }), undefined)
  t.equal(ms({ toString: 1 }), undefined)
  t.equal(firstTokenMs('', undefined), undefined)
})

t.test('parts of token counts are shown next to them', async t => {
  t.same(tokenParts({ cacheRead: 800, cacheWrite: 5, reasoning: 40 }, String), {
    input: '800 from cache, 5 to cache',
    output: '40 reasoning'
  })
  t.same(tokenParts({ cacheRead: 0, cacheWrite: null, reasoning: null }, String), { input: '', output: '' })
  t.same(tokenParts(null, String), { input: '', output: '' })
})
