/**
 * Reads 64-bit times and integers from both encodings without using doubles, which cannot represent every 64-bit value.
 */
import { LosslessNumber } from 'lossless-json'
import type { Json } from '../../trace/json/exact-json.ts'

/** A 64-bit integer in two halves. For a field that was not sent, protobufjs's default is a plain number. */
export type Int64 = { readonly low: number; readonly high: number; readonly unsigned: boolean } | number

/** 2^32 nanoseconds are HIGH_MICROS microseconds and HIGH_REST nanoseconds. */
const HIGH_MICROS = 4_294_967
const HIGH_REST = 296

/** Converts nanoseconds to microseconds, rounding down. Exact up to the year 2255. */
export function microsOfInt64(nanos: Int64): number {
  if (typeof nanos === 'number') return Math.floor(nanos / 1000)
  const high = nanos.high >>> 0
  return high * HIGH_MICROS + Math.floor((high * HIGH_REST + (nanos.low >>> 0)) / 1000)
}

/** Converts nanoseconds in decimal digits to microseconds, rounding down. */
export const microsOfText = (nanos: string): number => (nanos.length > 3 ? Number(nanos.slice(0, -3)) : 0)

/** Returns a number if a double represents the integer exactly, and a LosslessNumber otherwise. */
export function integerOf(value: Int64): Json {
  if (typeof value === 'number') return value
  // The sign is in the high half, so common small numbers need no BigInt.
  const number = value.high * 4_294_967_296 + (value.low >>> 0)
  if (Number.isSafeInteger(number)) return number
  return new LosslessNumber(((BigInt(value.high) << 32n) + BigInt(value.low >>> 0)).toString())
}

/** Latest time that a double represents exactly, in microseconds: a time in the year 2255. */
export const LAST_MICROS = Number.MAX_SAFE_INTEGER
