/** The Authorization header as OpenTelemetry's exporters send it. */

/**
 * Gives the header as `Bearer KEY`, in whichever form an exporter sent it. Two libraries pass the value of
 * OTEL_EXPORTER_OTLP_HEADERS on without decoding it (`Bearer%20KEY`). Langfuse's SDK sends Basic with a pair of keys,
 * of which the second, the password, is the secret one.
 */
export function readExporterAuthorization(header: string | undefined): string | undefined {
  if (header === undefined) return undefined
  const text = decodePercent(header)
  const pair = /^basic +([\w+/-]+=*) *$/i.exec(text)?.[1]
  if (pair === undefined) return text
  const [, password = ''] = /^[^:]*:(.*)$/s.exec(Buffer.from(pair, 'base64').toString()) ?? []
  return `Bearer ${password}`
}

/** A text that is not percent-encoded as a whole is left alone. No key has a percent sign. */
function decodePercent(text: string): string {
  try {
    return text.includes('%') ? decodeURIComponent(text) : text
  } catch {
    return text
  }
}
