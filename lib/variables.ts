/** Reads environment variables. Errors name the faulty variable and the rule that it breaks. */
import { readFileSync } from 'node:fs'
import { readNetworks } from './network-list.ts'

const UNITS_MS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 }

/** Thrown for an unusable configuration value. The message is one line that names the variable and the rule. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError'
}

/**
 * Unless noted, methods return undefined for an unset or empty variable and throw a ConfigError for an invalid
 * variable.
 */
export class Variables {
  readonly #env: NodeJS.ProcessEnv

  constructor(env: NodeJS.ProcessEnv) {
    this.#env = env
  }

  text(name: string): string | undefined {
    const value = this.#env[name]?.trim()
    return value === undefined || value === '' ? undefined : value
  }

  /**
   * Returns a secret: the variable's value, or the contents of the file that NAME_FILE names. Container platforms and
   * systemd (LoadCredential) provide secrets as files. Messages never contain the secret.
   */
  secret(name: string): string | undefined {
    const [value, file] = [this.text(name), this.text(`${name}_FILE`)]
    if (file === undefined) return value
    if (value !== undefined) throw new ConfigError(`${name} and ${name}_FILE must not both be set`)
    let text: string
    try {
      text = readFileSync(file, 'utf8').trim()
    } catch (error) {
      throw new ConfigError(`${name}_FILE cannot be read: ${(error as Error).message}`)
    }
    if (text === '') throw new ConfigError(`${name}_FILE points to an empty file`)
    return text
  }

  /** Throws a ConfigError about a variable's value. `rule` begins with `must`. */
  refuse(name: string, rule: string): never {
    throw new ConfigError(`${name} ${rule}, not ${JSON.stringify(withoutUsers(this.#env[name]!))}`)
  }

  integer(name: string, least: number, most: number): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const number = /^\d{1,16}$/.test(value) ? Number(value) : Number.NaN
    if (!(number >= least && number <= most)) this.refuse(name, `must be a whole number from ${least} to ${most}`)
    return number
  }

  /** Returns a duration in ms. Returns `otherwise` if the variable is unset, and undefined if its value is `off`. */
  duration(name: string, otherwise: number): number | undefined {
    const value = this.text(name)
    if (value === undefined) return otherwise
    if (value === 'off') return undefined
    const ms = milliseconds(value)
    return ms > 0 ? ms : this.refuse(name, 'must be a duration such as 30s, 10m or 2h, or off')
  }

  /**
   * Returns a duration in ms. Throws if the duration exceeds `mostMs`; the error quotes `range`, a description of the
   * limits.
   */
  period(name: string, mostMs: number, range: string): number | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const ms = milliseconds(value)
    return ms <= mostMs ? ms : this.refuse(name, `must be ${range}`)
  }

  /** Returns the comma-separated values; empty if the variable is not set. */
  list(name: string): string[] {
    const parts = (this.text(name) ?? '').split(',').map(each => each.trim())
    return parts.filter(each => each !== '')
  }

  networks(name: string): string[] {
    const list = this.list(name)
    if (readNetworks(list) !== undefined) return list
    return this.refuse(name, 'must be addresses or networks such as 127.0.0.1,10.0.0.0/8, separated by commas')
  }

  oneOf<T extends string>(name: string, values: readonly T[]): T | undefined {
    const value = this.text(name)
    const found = values.find(each => each === value)
    if (value === undefined || found !== undefined) return found
    return this.refuse(
      name,
      `must be ${values.length > 2 ? 'one of ' : ''}${values.join(values.length > 2 ? ', ' : ' or ')}`
    )
  }

  url(name: string, protocols: readonly string[]): URL | undefined {
    const value = this.text(name)
    if (value === undefined) return undefined
    const parsed = URL.canParse(value) ? new URL(value) : undefined
    if (parsed !== undefined && protocols.includes(parsed.protocol)) return parsed
    // The value may contain a password, so the message does not repeat it.
    throw new ConfigError(`${name} must be an address that begins with ${protocols.map(p => `${p}//`).join(' or ')}`)
  }

  /** Throws if only one of two variables is set. */
  checkPair(one: string, other: string): void {
    if ((this.text(one) === undefined) !== (this.text(other) === undefined)) {
      throw new ConfigError(`${one} and ${other} must both be set, or neither`)
    }
  }
}

/** Parses a duration such as `30s` into milliseconds; NaN for any other string. */
function milliseconds(text: string): number {
  const [, digits, unit = ''] = /^(\d{1,6})([smhd])$/.exec(text) ?? []
  return Number(digits) * (UNITS_MS[unit] ?? Number.NaN)
}

/** Removes user names and passwords from URLs in a string. */
function withoutUsers(text: string): string {
  return text.replace(/\/\/[^/?#\s,]*@/g, '//')
}
