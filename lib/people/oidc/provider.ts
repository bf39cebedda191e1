/**
 * Signs people in with an OpenID Connect provider: the authorization code flow with PKCE, state and nonce. The library
 * and the provider's configuration are loaded at the first sign-in, and the configuration is refreshed hourly, so that
 * a server starts even if the provider is down.
 */
import type { Configuration } from 'openid-client'
import type { OidcConfig } from '../../config.ts'
import type { Logger } from '../../log.ts'
import { FRESH_SIGN_IN_S } from '../fresh.ts'
import { type Claims, isSubject, joinClaims, type SaidClaims } from './claims.ts'

/** Values that the provider must return at the end of the sign-in. The browser keeps these values in the meantime. */
export interface SignInAttempt {
  readonly state: string
  readonly nonce: string
  readonly verifier: string
}

/**
 * Reason why a sign-in failed. `away`: the provider sends no response, or an invalid response. `denied`: the provider
 * refuses, for example because the person cancelled. `invalid`: the response belongs to another sign-in or was already
 * used.
 */
export type ProviderFailure = 'away' | 'denied' | 'invalid'

export class OidcError extends Error {
  override readonly name = 'OidcError'
  readonly failure: ProviderFailure
  constructor(failure: ProviderFailure, cause: unknown) {
    super(describe(cause), { cause })
    this.failure = failure
  }
}

/** Time limit for one response from the provider. */
const TIMEOUT_S = 10
/** Maximum difference between the provider's clock and the server's. */
const CLOCK_TOLERANCE_S = 30
const KNOWN_FOR_MS = 3_600_000
/** Maximum number of concurrent requests to the provider. Anonymous visitors can trigger such requests. */
const MOST_AT_ONCE = 20

type Library = typeof import('openid-client')

interface Known {
  readonly configuration: Configuration
  readonly until: number
}

export class Provider {
  readonly #config: OidcConfig
  readonly #redirectUri: string
  readonly #log: Logger
  #known: Known | undefined
  #asking: Promise<Configuration> | undefined
  #atOnce = 0

  /** `redirectUri` is the URL to which the provider sends people back. */
  constructor(config: OidcConfig, redirectUri: string, log: Logger) {
    this.#config = config
    this.#redirectUri = redirectUri
    this.#log = log
  }

  /**
   * Returns the provider's sign-in URL and the values that the sign-in must return. If `fresh` is set, requests new
   * proof of identity even if the provider remembers the person. Throws an OidcError on failure.
   */
  async startAttempt(fresh: boolean): Promise<{ readonly address: string; readonly attempt: SignInAttempt }> {
    return this.#ask(async library => {
      const configuration = await this.#configuration(library)
      const attempt = {
        state: library.randomState(),
        nonce: library.randomNonce(),
        verifier: library.randomPKCECodeVerifier()
      }
      const { href } = library.buildAuthorizationUrl(configuration, {
        redirect_uri: this.#redirectUri,
        scope: this.#config.scopes.join(' '),
        state: attempt.state,
        nonce: attempt.nonce,
        code_challenge: await library.calculatePKCECodeChallenge(attempt.verifier),
        code_challenge_method: 'S256',
        ...(fresh && { max_age: String(FRESH_SIGN_IN_S) })
      })
      return { address: href, attempt }
    })
  }

  /**
   * Exchanges the redirect's query (without `?`) for the provider's claims about the person. Throws an OidcError on
   * failure.
   */
  async finish(query: string, { state, nonce, verifier }: SignInAttempt): Promise<SaidClaims> {
    return this.#ask(async library => {
      const configuration = await this.#configuration(library)
      const checks = { expectedState: state, expectedNonce: nonce, pkceCodeVerifier: verifier, idTokenExpected: true }
      const cameTo = new URL(`${this.#redirectUri}?${query}`)
      const tokens = await library.authorizationCodeGrant(configuration, cameTo, checks)
      const token = tokens.claims() as Claims & { readonly iss: string; readonly sub: string }
      // The library checks `azp` only for tokens with several audiences.
      if (token.azp !== undefined && token.azp !== this.#config.clientId) {
        throw new OidcError('invalid', new Error('the ID token was issued to another client (azp)'))
      }
      if (!isSubject(token.sub))
        throw new OidcError('invalid', new Error('the subject of the ID token cannot be stored'))
      // Many providers return more claims from the userinfo endpoint than in the token.
      const hasUserinfo = configuration.serverMetadata().userinfo_endpoint !== undefined
      const userinfo = hasUserinfo
        ? await library.fetchUserInfo(configuration, tokens.access_token, token.sub)
        : undefined
      const authTime = readTime(token.auth_time)
      return { issuer: token.iss, subject: token.sub, authTime, claims: joinClaims(token, userinfo) }
    })
  }

  async #ask<T>(work: (library: Library) => Promise<T>): Promise<T> {
    if (this.#atOnce >= MOST_AT_ONCE) throw new OidcError('away', new Error('too many sign-ins at once'))
    this.#atOnce++
    try {
      return await work(await import('openid-client'))
    } catch (error) {
      const failure = failureOf(error)
      this.#log.warn({ failure, reason: describe(error) }, 'OpenID Connect sign-in failed')
      throw new OidcError(failure, error)
    } finally {
      this.#atOnce--
    }
  }

  async #configuration(library: Library): Promise<Configuration> {
    const known = this.#known
    if (known !== undefined && known.until > Date.now()) return known.configuration
    this.#asking ??= this.#discover(library).finally(() => {
      this.#asking = undefined
    })
    // The previous configuration stays in use until the provider returns a new configuration.
    return known === undefined ? this.#asking : this.#asking.catch(() => known.configuration)
  }

  async #discover(library: Library): Promise<Configuration> {
    const { issuer, clientId, clientSecret } = this.#config
    const isInsecure = issuer.protocol === 'http:'
    const execute = isInsecure ? [library.allowInsecureRequests] : []
    const found = await library.discovery(issuer, clientId, undefined, library.None(), { execute, timeout: TIMEOUT_S })
    const server = found.serverMetadata()
    const ways = server.token_endpoint_auth_methods_supported
    // If a provider lists no methods, the standard's default method applies: client_secret_basic.
    const isBasic = ways === undefined || ways.includes('client_secret_basic')
    const authentication = isBasic ? library.ClientSecretBasic(clientSecret) : library.ClientSecretPost(clientSecret)
    const client = { [library.clockTolerance]: CLOCK_TOLERANCE_S }
    const configuration = new library.Configuration(server, clientId, client, authentication)
    configuration.timeout = TIMEOUT_S
    if (isInsecure) library.allowInsecureRequests(configuration)
    // By default, the library trusts the secure connection to the token endpoint and does not verify the token's
    // signature.
    library.enableNonRepudiationChecks(configuration)
    this.#known = { configuration, until: Date.now() + KNOWN_FOR_MS }
    return configuration
  }
}

/** Returns a time in seconds since 1970; undefined if the value is invalid or beyond the year 9999. */
const readTime = (said: unknown): number | undefined =>
  typeof said === 'number' && said >= 0 && said < 253_402_300_800 ? said : undefined

/** Codes of errors for responses that no conforming provider sends; `OAUTH_TIMEOUT` means that a response was late. */
const AWAY = ['OAUTH_TIMEOUT', 'OAUTH_RESPONSE_IS_NOT_JSON', 'OAUTH_RESPONSE_IS_NOT_CONFORM', 'OAUTH_PARSE_ERROR']

function failureOf(error: unknown): ProviderFailure {
  if (error instanceof OidcError) return error.failure
  const { code } = error as { code?: unknown }
  if (code === 'OAUTH_AUTHORIZATION_RESPONSE_ERROR') return 'denied'
  // fetch throws a TypeError without a code if no server responds.
  const isAway = code === undefined || typeof code !== 'string' || AWAY.includes(code) || !code.startsWith('OAUTH_')
  return isAway ? 'away' : 'invalid'
}

/**
 * Maximum length of a logged reason, in characters. A reason may come from a URL, so strangers can write parts of a
 * reason.
 */
const MOST_REASON = 300

/** Describes an error for the log, without tokens or personal data. */
function describe(error: unknown): string {
  const {
    message = String(error),
    code,
    error: answer,
    error_description: more,
    cause
  } = error as Record<string, unknown>
  const causes = cause instanceof Error ? [cause.message, (cause as { code?: unknown }).code] : []
  const parts = [message, code, answer, more, ...causes].filter(each => typeof each === 'string' && each !== '')
  return parts.join('; ').slice(0, MOST_REASON)
}
