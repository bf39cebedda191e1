/** Reads the names of the metrics in an export. Only names are read, because metrics are not stored. */
import { readBody } from '../../trace/body.ts'
import { listOf, objectOf, startParts, textOfField } from '../wire/json-values.ts'
import { Parts } from '../wire/parts.ts'
import { decoding, findInner } from '../wire/protobuf-values.ts'
import type { ByteRange, OtlpEncoding } from '../wire/request.ts'
import { checkProtobufSignal, signalBody } from '../wire/signals.ts'

/** Returns the number of metrics for each name. Throws a Refusal if the body is not an export of metrics. */
export function readMetricNames(bytes: Uint8Array, encoding: OtlpEncoding): ReadonlyMap<string, number> {
  const counts = new Map<string, number>()
  for (const name of encoding === 'json' ? namesInJson(bytes) : namesInProtobuf(bytes)) {
    counts.set(name, (counts.get(name) ?? 0) + 1)
  }
  return counts
}

function namesInJson(bytes: Uint8Array): readonly string[] {
  const { value } = readBody(bytes, 'invalid_request')
  startParts()
  return listOf(signalBody(objectOf(value, 'body'), 'metrics'), 'resourceMetrics', 'body', (resource, path) =>
    listOf(resource, 'scopeMetrics', path, (scope, path) =>
      listOf(scope, 'metrics', path, (metric, path) => textOfField(metric, 'name', path))
    )
  ).flat(2)
}

/** Field numbers on the path from a request to a metric's name. */
const TO_METRIC = [1, 2, 2]
const NAME = 1

function namesInProtobuf(bytes: Uint8Array): readonly string[] {
  checkProtobufSignal(bytes, 'metrics')
  return decoding('ExportMetricsServiceRequest', () => {
    const parts = new Parts()
    let ranges: readonly ByteRange[] = [{ from: 0, end: bytes.length }]
    for (const field of TO_METRIC) ranges = ranges.flatMap(range => findInner(bytes, range, field, parts))
    const nameOf = ({ from, end }: ByteRange) => Buffer.from(bytes.subarray(from, end)).toString()
    return ranges.map(range => findInner(bytes, range, NAME, parts).map(nameOf).at(-1) ?? '')
  })
}
