import t from 'tap'
import { readExport, readPortion } from '../../../../lib/otlp/read-export.ts'
import { joinPortion } from '../../../../lib/otlp/wire/portion.ts'
import type { OtlpEncoding } from '../../../../lib/otlp/wire/request.ts'
import { toProtobuf } from '../../../fixtures/bodies/fuzz-otlp.ts'
import { exportOf, otlpSpan } from '../../../fixtures/bodies/otlp.ts'
import { freshId } from '../../../fixtures/database/seed.ts'

t.test('a request of few large spans is divided by bytes, and a trace may be in several portions', async t => {
  const traceId = freshId(32)
  const large = Array.from({ length: 9 }, () =>
    otlpSpan({ traceId, attributes: { 'input.value': 'x'.repeat(700_000) } })
  )
  const request = exportOf(otlpSpan(), ...large, otlpSpan({ attributes: { 'input.value': 'y'.repeat(5_000_000) } }))
  const encoders = { json: (request: object) => Buffer.from(JSON.stringify(request)), protobuf: toProtobuf }
  for (const [encoding, encode] of Object.entries(encoders) as [OtlpEncoding, (request: object) => Uint8Array][]) {
    const bytes = encode(request)
    const portions = readExport(bytes, encoding).portions.map(portion => joinPortion(portion, bytes))
    const read = portions.map(portion => [...readPortion(portion).traces.values()].map(spans => spans.length))
    t.same(read, [[1, 5], [4], [1]])
    t.ok(portions.slice(0, 2).every(({ length }) => length < 4.2e6))
  }
})
