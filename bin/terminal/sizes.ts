/** Parses sizes as people write them. */
import { UsageError } from '../command.ts'

const FACTORS: Readonly<Record<string, number>> = { '': 1, k: 1e3, m: 1e6, g: 1e9, t: 1e12, p: 1e15 }
const BINARY: Readonly<Record<string, number>> = Object.fromEntries(
  ['k', 'm', 'g', 't', 'p'].map((letter, i) => [letter, 1024 ** (i + 1)])
)

/**
 * Reads `5000`, `5GB`, `1.5 TB` or `10GiB` as bytes. As in the International System of Units, kB, MB, GB, TB and PB are
 * powers of 1000; KiB to PiB are powers of 1024. Returns undefined if the string is not a size of at least 1 byte.
 */
export function readSize(text: string): number | undefined {
  const [, amount, prefix = '', binary] = /^(\d{1,16}(?:\.\d{1,6})?) ?(?:([kmgtp])?(i)?b?)?$/i.exec(text) ?? []
  if (amount === undefined) return undefined
  const factor = (binary === undefined ? FACTORS : BINARY)[prefix.toLowerCase()]
  const bytes = factor === undefined ? Number.NaN : Number(amount) * factor
  const isWhole = factor !== 1 || Number.isInteger(bytes)
  const rounded = Math.round(bytes)
  return isWhole && rounded >= 1 && Number.isSafeInteger(rounded) ? rounded : undefined
}

export function parseSize(flag: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined
  const bytes = readSize(text)
  if (bytes !== undefined) return bytes
  throw new UsageError(`--${flag} must be a size of at least 1 byte, such as 5GB, not ${JSON.stringify(text)}`)
}
