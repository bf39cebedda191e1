/** `redact` receives everything that is recorded, except ids and the names of scores. */
import t from 'tap'
import { Trace } from '../../../../clients/typescript/record/trace.ts'
import { redactedScore } from '../../../../clients/typescript/record/values.ts'
import { collecting } from '../../../fixtures/client/collecting.ts'

const SECRET = 'S3CRET'

/** Records a secret in each place that takes an application's text. */
function recordSecrets(collected: ReturnType<typeof collecting>): void {
  const about = { sessionId: `s-${SECRET}`, userId: `u-${SECRET}`, tags: [`t-${SECRET}`], model: `m-${SECRET}` }
  const values = { input: { [SECRET]: [SECRET] }, metadata: { [SECRET]: SECRET } }
  const spanAttributes = { tenant: SECRET }
  const trace = new Trace(collected.recorder, `trace ${SECRET}`, { ...about, ...values, spanAttributes })
  trace.addTags(SECRET).setUser(SECRET).setSession(SECRET).setOutput(SECRET)
  const span = trace.startSpan(`span ${SECRET}`, {
    model: SECRET,
    attributes: { [SECRET]: new Map([[SECRET, SECRET]]) }
  })
  span
    .addEvent(`event ${SECRET}`, { [SECRET]: SECRET })
    .setModel(SECRET)
    .recordError(new Error(SECRET))
  span.score('kind', `value ${SECRET}`, { comment: SECRET })
  span.end({ output: SECRET })
  trace.end()
}

t.test('no part contains a secret, wherever an application passes it', t => {
  const hide = (_: string, value: unknown) => (typeof value === 'string' ? value.replaceAll(SECRET, '***') : value)
  const open = collecting()
  recordSecrets(open)
  t.match(JSON.stringify(open.parts), SECRET)
  const hidden = collecting({ redact: hide })
  recordSecrets(hidden)
  t.equal(hidden.parts.length, open.parts.length)
  t.notMatch(JSON.stringify(hidden.parts), SECRET)
  t.notMatch(JSON.stringify(hidden.problems), SECRET)
  t.end()
})

t.test('each place has a name, and ids are not redacted', t => {
  const names = new Set<string>()
  const ids = /^[0-9a-f]{16}$|^[0-9a-f]{32}$/
  const collected = collecting({
    redact(name, value) {
      names.add(name)
      t.notMatch(value, ids)
      return value
    }
  })
  recordSecrets(collected)
  const places = ['traceName', 'spanName', 'eventName', 'tag', 'sessionId', 'userId', 'model', 'scoreValue']
  for (const name of [...places, 'scoreComment', 'input', 'output', '', '0', SECRET]) t.ok(names.has(name), name)
  t.end()
})

t.test('a result that is not a string becomes [redacted] where a string is required', t => {
  const collected = collecting({ redact: () => 7 })
  recordSecrets(collected)
  const { trace } = JSON.parse(collected.parts.find(({ kind }) => kind === 'record')!.body)
  const text = '[redacted]'
  t.match(trace, { name: text, sessionId: text, userId: text, tags: [text], model: text, input: 7, output: 7 })
  t.match(trace.spans, [{ name: text, model: text, events: [{ name: text }, { name: text }] }])
  const score = JSON.parse(collected.parts.find(({ kind }) => kind === 'score')!.body)
  t.match(score, { name: 'kind', dataType: 'categorical', value: text, comment: text })
  t.equal(
    redactedScore(() => 'hidden', 0.5),
    'hidden'
  )
  t.equal(
    redactedScore(() => 1, 0.5),
    1
  )
  t.equal(
    redactedScore(() => undefined, true),
    text
  )
  t.end()
})

t.test('members whose names become equal are numbered', t => {
  const collected = collecting({
    redact: (name, value) => (name === '' && String(value).length === 1 ? 'hidden' : value)
  })
  const names = { a: 1, 'hidden 2': 0, b: 2, c: 3 }
  const traced = new Trace(collected.recorder, 'trace', { input: names, metadata: { a: 0, b: 2 } })
  traced.setMetadata({ a: 1 }).end()
  const { trace } = JSON.parse(collected.parts[0]!.body)
  t.same(trace.metadata, { hidden: 1, 'hidden 2': 2 }, 'a repeated name replaces its earlier value')
  t.same(trace.input, { hidden: 1, 'hidden 2': 0, 'hidden 3': 2, 'hidden 4': 3 })
  t.end()
})
