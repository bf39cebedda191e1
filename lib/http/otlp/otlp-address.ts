/**
 * Recognises requests that OpenTelemetry exporters send to the wrong address. An exporter appends `/v1/traces` to its
 * configured address, so an address with missing or extra path segments is the most common setup mistake.
 */
import type { IncomingHttpHeaders } from 'node:http'

/** Paths that exporters request if their configured address has Langfuse's path, spoor's path or no path at all. */
const ASKED = /^(?:\/v1\/(?:traces|metrics|logs)|\/api\/public\/otel|\/api\/v1\/otlp)(?=[/?]|$)/

export const isOtlpAddress = (url: string): boolean => ASKED.test(url)

/** Returns a hint with the OTLP address for an OTLP request at an unknown address, or undefined for other requests. */
export function hintAtOtlp(url: string, baseUrl: string): string | undefined {
  if (!isOtlpAddress(url)) return undefined
  const endpoint = `${baseUrl}/api/v1/otlp`
  return `OTLP is served at ${endpoint}/v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT to ${endpoint}.`
}

/**
 * Returns whether the body is protobuf. As on all routes, a body with any Content-Type other than protobuf is read as
 * JSON.
 */
export function isProtobuf(headers: IncomingHttpHeaders | NodeJS.Dict<string | string[]>): boolean {
  return /^application\/(x-)?protobuf\b/i.test(String(headers['content-type']))
}
