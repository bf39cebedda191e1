/** Reads the Authorization headers that OpenTelemetry exporters send. */

/**
 * Converts an exporter's header to `Bearer KEY`. Two libraries do not decode the value of OTEL_EXPORTER_OTLP_HEADERS
 * (`Bearer%20KEY`). Langfuse's SDK sends Basic authentication with a pair of keys; the second key, sent as the
 * password, is the secret key.
 */
export function readExporterAuthorization(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = decodePercent(header)
  const pair = /^basic +([\w+/-]+=*) *$/i.exec(text)?.[1]
  if (pair === undefined) return text
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(pair, 'base64').toString()) ?? []
  return `Bearer ${password}`
}

/** Decodes a percent-encoded string and returns any other string unchanged. No key contains a percent sign. */
function decodePercent(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text
  } catch {
    return text
  }
}
