/** Reads the building blocks of OTLP's protobuf messages: attributes, values, and nested messages. */
import protobuf from 'protobufjs'
import { Refusal } from '../../errors.ts'
import type { Json } from '../../trace/json/exact-json.ts'
import { setOwn } from '../../trace/metadata.ts'
import type { Parts } from './parts.ts'
import type { Attributes, ByteRange } from './request.ts'
import { type Int64, integerOf } from './time.ts'

/** Schema of attributes and values, from opentelemetry-proto's common/v1. */
export const VALUES = `
message KeyValue { string key = 1; AnyValue value = 2; }
message AnyValue {
  oneof value {
    string string_value = 1; bool bool_value = 2; int64 int_value = 3; double double_value = 4;
    ArrayValue array_value = 5; KeyValueList kvlist_value = 6; bytes bytes_value = 7;
  }
}
message ArrayValue { repeated AnyValue values = 1; }
message KeyValueList { repeated KeyValue values = 1; }
`

/** Messages as protobufjs decodes them. An unsent field has its default value; an unsent message is null. */
export interface KeyValue {
  readonly key: string
  readonly value: AnyValue | null
}
export interface AnyValue {
  readonly value?:
    | 'stringValue'
    | 'boolValue'
    | 'intValue'
    | 'doubleValue'
    | 'arrayValue'
    | 'kvlistValue'
    | 'bytesValue'
  readonly stringValue: string
  readonly boolValue: boolean
  readonly intValue: Int64
  readonly doubleValue: number
  readonly arrayValue: { readonly values: readonly AnyValue[] }
  readonly kvlistValue: { readonly values: readonly KeyValue[] }
  readonly bytesValue: Uint8Array
}

/** Decodes a request. Throws `invalid_request` if the bytes do not encode the message `name`. */
export function decoding<T>(name: string, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    if (error instanceof Refusal) throw error
    throw new Refusal('invalid_request', `body: is not a protobuf ${name}: ${(error as Error).message}`)
  }
}

/** Finds the messages in a field without decoding them. Each message found counts as a part. */
export function findInner(bytes: Uint8Array, { from, end }: ByteRange, field: number, parts: Parts): ByteRange[] {
  const reader = protobuf.Reader.create(bytes)
  reader.pos = from
  const ranges: ByteRange[] = []
  while (reader.pos < end) {
    const tag = reader.tag()
    if (tag >>> 3 === field && (tag & 7) === LENGTH_DELIMITED) {
      const length = reader.size()
      parts.add(1)
      ranges.push({ from: reader.pos, end: reader.pos + length })
      reader.skip(length)
    } else {
      reader.skipType(tag & 7, 0, tag >>> 3)
    }
  }
  if (reader.pos !== end) throw new RangeError('index out of range')
  return ranges
}

/** Counts the messages nested in a message. `depth` is the message's level in the request. */
export function countParts(
  bytes: Uint8Array,
  { from, end }: ByteRange,
  type: protobuf.Type,
  depth: number,
  parts: Parts
) {
  const reader = protobuf.Reader.create(bytes)
  reader.pos = from
  countWithin(reader, end, type, depth, parts)
}

function countWithin(reader: protobuf.Reader, end: number, type: protobuf.Type, depth: number, parts: Parts): void {
  if (depth > MAX_DEPTH) throw new Error('max depth exceeded')
  while (reader.pos < end) {
    const tag = reader.uint32()
    const inner = type.fieldsById[tag >>> 3]?.resolvedType
    if (inner instanceof protobuf.Type && (tag & 7) === LENGTH_DELIMITED) {
      parts.add(1)
      const length = reader.uint32()
      countWithin(reader, reader.pos + length, inner, depth + 1, parts)
    } else {
      reader.skipType(tag & 7)
    }
  }
}

export const LENGTH_DELIMITED = 2
/** Maximum depth that protobufjs decodes. */
const MAX_DEPTH = 100

export function readAttributes(list: readonly KeyValue[]): Attributes {
  const attributes = new Map<string, Json>()
  for (const { key, value } of list) attributes.set(key, readProtobufValue(value))
  return attributes
}

export function readProtobufValue(any: AnyValue | null): Json {
  switch (any?.value) {
    case 'stringValue':
      return any.stringValue
    case 'boolValue':
      return any.boolValue
    case 'intValue':
      return integerOf(any.intValue)
    case 'doubleValue':
      // JSON has no NaN or infinities.
      return Number.isFinite(any.doubleValue) ? any.doubleValue : String(any.doubleValue)
    case 'arrayValue':
      return any.arrayValue.values.map(readProtobufValue)
    case 'kvlistValue': {
      const object: Record<string, Json> = {}
      for (const { key, value } of any.kvlistValue.values) setOwn(object, key, readProtobufValue(value))
      return object
    }
    case 'bytesValue':
      return Buffer.from(any.bytesValue).toString('base64')
    default:
      return null
  }
}

/**
 * Returns bytes as hexadecimal digits. If the field was not sent, protobufjs returns a plain empty array instead of a
 * buffer.
 */
export const hex = ({ buffer, byteOffset, length }: Uint8Array): string =>
  length === 0 ? '' : Buffer.from(buffer, byteOffset, length).toString('hex')
