import t from 'tap'
import { decodeExport } from '../bodies/export.ts'
import { createIdentities, TRACE_ID_PLACE } from '../bodies/template.ts'
import { buildScript } from './requests.ts'

interface Export {
  readonly resourceSpans: readonly [{ readonly scopeSpans: readonly [{ readonly spans: readonly Sent[] }] }]
}
interface Sent {
  readonly traceId: string | Buffer
  readonly name: string
  readonly startTimeUnixNano: string
}

const HEAD_END = '\r\n\r\n'

for (const kind of ['otlp-json', 'otlp-protobuf'] as const) {
  t.test(`each request of ${kind} is an export of a different trace`, async t => {
    const { requests, bodyBytes } = buildScript(kind, 0, { port: 1, key: 'the key' })
    const [request] = requests
    const identities = createIdentities(1)
    const sent = Array.from({ length: 3 }, () => {
      identities.next()
      identities.stamp(request!)
      const body = request!.bytes.subarray(request!.bytes.indexOf(HEAD_END) + HEAD_END.length)
      t.equal(body.length, bodyBytes)
      const decoded = kind === 'otlp-json' ? JSON.parse(body.toString()) : decodeExport(body)
      const { spans } = (decoded as Export).resourceSpans[0].scopeSpans[0]
      const ids = new Set(spans.map(({ traceId }) => (Buffer.isBuffer(traceId) ? traceId.toString('hex') : traceId)))
      return { ids: [...ids], names: spans.map(({ name }) => name), times: spans.map(each => each.startTimeUnixNano) }
    })
    const ids = sent.flatMap(({ ids }) => ids)
    t.equal(ids.length, 3, 'an export has one trace')
    t.equal(new Set(ids).size, 3)
    t.notOk(ids.includes(TRACE_ID_PLACE))
    t.equal(sent[0]!.names.length, 8)
    for (const { names, times } of sent) t.same([names, times], [sent[0]!.names, sent[0]!.times])
  })
}
