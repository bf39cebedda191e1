/**
 * Addresses at which exporters of OpenTelemetry ask. An exporter adds `/v1/traces` to the address that it is given, so
 * an address with too little or too much in it is the most common mistake in setting one up.
 */
import type { IncomingHttpHeaders } from 'node:http'

/** The paths at which exporters ask if their address has no path, or has Langfuse's or ours. */
const ASKED = /^(?:\/v1\/(?:traces|metrics|logs)|\/api\/public\/otel|\/api\/v1\/otlp)(?=[/?]|$)/

export const isOtlpAddress = (url: string): boolean => ASKED.test(url)

/** A hint for a client that asked at an unknown address: the address of OTLP; undefined if it did not ask for OTLP. */
export function hintAtOtlp(url: string, baseUrl: string): string | undefined {
  if (!isOtlpAddress(url)) return undefined
  const endpoint = `${baseUrl}/api/v1/otlp`
  return `OTLP is taken at ${endpoint}/v1/traces: set OTEL_EXPORTER_OTLP_ENDPOINT to ${endpoint}.`
}

/** Whether the body is protobuf. A body with any other Content-Type is read as JSON, as on all routes. */
export function isProtobuf(headers: IncomingHttpHeaders | NodeJS.Dict<string | string[]>): boolean {
  return /^application\/(x-)?protobuf\b/i.test(String(headers['content-type']))
}
