/** The certificate of the gRPC server. A renewed certificate is used without a restart. */
import { createPrivateKey, X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createSecureContext } from 'node:tls'
import { ServerCredentials } from '@grpc/grpc-js'
import { expiryOf } from '../health/upkeep.ts'
import type { Logger } from '../log.ts'
import { ConfigError } from '../variables.ts'

export interface CertificateFiles {
  readonly cert: string
  readonly key: string
}

interface Pair {
  readonly cert: Buffer
  readonly key: Buffer
}

const CHECK_MS = 60_000

/**
 * Rereads the files every minute. If they cannot be used, for example because only one of them has been renewed so far,
 * the server keeps the last usable pair.
 */
export class Certificate extends ServerCredentials {
  readonly #files: CertificateFiles
  readonly #log: Logger
  readonly #timer: NodeJS.Timeout
  #pair: Pair
  #fault: string | undefined

  /** Throws a ConfigError if the files cannot be used. */
  constructor(files: CertificateFiles, log: Logger, checkMs = CHECK_MS) {
    const pair = readPair(files)
    super({ requestCert: false }, pair)
    this.#files = files
    this.#log = log
    this.#pair = pair
    this.#timer = setInterval(() => this.#check(), checkMs).unref()
  }

  get expiresAt(): Date {
    return expiryOf(this.#pair.cert)
  }

  close(): void {
    clearInterval(this.#timer)
  }

  override _equals(other: ServerCredentials): boolean {
    return this === other
  }

  #check(): void {
    let pair: Pair
    try {
      pair = readPair(this.#files)
    } catch (error) {
      const { message } = error as Error
      if (message !== this.#fault) this.#log.warn(`the gRPC certificate could not be reloaded: ${message}`)
      this.#fault = message
      return
    }
    this.#fault = undefined
    if (pair.cert.equals(this.#pair.cert) && pair.key.equals(this.#pair.key)) return
    this.#pair = pair
    this.updateSecureContextOptions({ ...pair })
    this.#log.info({ expires: this.expiresAt.toISOString() }, 'the gRPC certificate was reloaded')
  }
}

function readPair({ cert, key }: CertificateFiles): Pair {
  const pair = { cert: readPem('OTLP_GRPC_CERT', cert), key: readPem('OTLP_GRPC_KEY', key) }
  try {
    createSecureContext(pair)
    // The context accepts a key of another type than the certificate's.
    if (!new X509Certificate(pair.cert).checkPrivateKey(createPrivateKey(pair.key))) {
      throw new Error('the key does not match the certificate')
    }
    return pair
  } catch (error) {
    throw new ConfigError(`OTLP_GRPC_CERT and OTLP_GRPC_KEY cannot be used together: ${(error as Error).message}`)
  }
}

function readPem(name: string, path: string): Buffer {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new ConfigError(`${name} cannot be read: ${(error as Error).message}`)
  }
}
