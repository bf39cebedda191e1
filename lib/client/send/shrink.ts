/** A body that was refused as too large, with its values cut much further. */
import { writeValue } from '../record/values.ts'

/** What values have left in all: proxies often allow a megabyte. */
const VALUE_BYTES = 400_000
const FIELDS = ['input', 'output', 'metadata', 'attributes'] as const

type Document = Record<string, unknown>

export function shrink(body: string): string {
  const parsed = JSON.parse(body)
  const trace: Document = parsed.trace ?? parsed
  const documents: Document[] = [trace, ...((trace.spans as Document[] | undefined) ?? [])]
  const bytes = Math.floor(VALUE_BYTES / (documents.length * FIELDS.length))
  for (const document of documents) {
    let cuts = 0
    for (const name of FIELDS) {
      if (document[name] === undefined) continue
      const written = writeValue(name, document[name], { bytes })
      cuts += written?.cuts ?? 0
      document[name] = JSON.parse(written?.text ?? 'null')
    }
    if (cuts === 0) continue
    if (document === trace) document.metadata = { ...(document.metadata as object), spoor: { cut: cuts } }
    else document.attributes = { ...(document.attributes as object), 'spoor.cut': cuts }
  }
  return JSON.stringify(parsed)
}
