/** Images and audio from data URIs only; nothing is fetched from other sites. */

export interface Media {
  readonly kind: 'image' | 'audio' | 'file'
  readonly type: string
  readonly data: string
  readonly bytes: number
}

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/gif', 'image/webp'])
const SOUNDS = new Set(
  ['mpeg', 'mp3', 'wav', 'x-wav', 'wave', 'ogg', 'webm', 'flac', 'aac', 'mp4'].map(format => `audio/${format}`)
)
const DATA_URI = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)?((?:;[a-z0-9-]+=[^;,]*)*);base64,/i
const PAYLOAD = /^[A-Za-z0-9+/\s]*={0,2}\s*$/

/** Reads a base64 data URI; returns undefined for other strings. */
export function readDataUri(uri: string): Media | undefined {
  if (!uri.startsWith('data:')) return undefined
  const match = DATA_URI.exec(uri.slice(0, 300))
  if (match === null) return undefined
  return mediaOf(match[1] ?? 'application/octet-stream', uri.slice(match[0].length))
}

/** Classifies base64 data by the given type, not by content, so that a script is never treated as an image. */
export function mediaOf(type: string, base64: string): Media | undefined {
  const mime = type.toLowerCase()
  const payload = base64.replace(/-/g, '+').replace(/_/g, '/')
  if (!PAYLOAD.test(payload.slice(0, 4096))) return undefined
  const bytes = Math.floor((payload.length * 3) / 4)
  const data = `data:${mime};base64,${payload}`
  const kind = IMAGES.has(mime) ? 'image' : SOUNDS.has(mime) ? 'audio' : 'file'
  return { kind, type: mime, data, bytes }
}

const SIGNATURES: readonly (readonly [start: string, type: string])[] = [
  ['iVBORw0KGgo', 'image/png'],
  ['/9j/', 'image/jpeg'],
  ['R0lGOD', 'image/gif'],
  ['UklGR', 'image/webp'],
  ['JVBERi0', 'application/pdf'],
  ['UEsDB', 'application/zip'],
  ['SUQz', 'audio/mpeg'],
  ['T2dnUw', 'audio/ogg'],
  ['H4sI', 'application/gzip']
]

export function guessType(base64: string): string {
  const found = SIGNATURES.find(([start]) => base64.startsWith(start))?.[1]
  // RIFF files may be WebP or WAVE; bytes 8 to 11 distinguish them.
  if (found === 'image/webp' && base64.slice(12, 16) === 'QVZF') return 'audio/wav'
  return found ?? 'application/octet-stream'
}
