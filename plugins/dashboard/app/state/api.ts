/**
 * Requests to the server. If the server is unreachable or the session has expired, a read waits for the server or for a
 * new sign-in, and is then retried. A write waits only for a sign-in and reports any other failure immediately.
 */

import type { Answer, Method, Parameters, Path } from '../contract.ts'
import { createStore } from './store.ts'

export class ApiError extends Error {
  readonly status: number
  readonly code: string
  readonly requestId: string | undefined
  constructor(status: number, code: string, message: string, requestId: string | undefined) {
    super(message)
    this.status = status
    this.code = code
    this.requestId = requestId
  }
}

/** Whether the server is reachable. */
export const connection = createStore<'fine' | 'lost'>('fine')
/**
 * Set while the page waits for a sign-in, because the session has ended or because the action requires a recent
 * sign-in. The user can cancel only in the second case.
 */
export const signInWanted = createStore<'no' | 'ended' | 'fresh' | 'cancelled'>('no')

const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 10_000

interface Options {
  readonly body?: unknown
  readonly signal?: AbortSignal
  /** Whether a 401 is an ordinary error rather than a reason to ask for a sign-in. */
  readonly visitor?: true
}

/** The address of a response, relative to `/app/api/`. The type parameter records the path in the contract. */
export type ApiPath<P extends Path> = string & { readonly [PATH]: P }
declare const PATH: unique symbol

/** Builds an address by filling in the path's parameters. `query` may start with `?`. */
export function at<P extends Path>(
  path: P,
  parameters: Readonly<Record<Parameters<P>, string | number>>,
  query: URLSearchParams | string = ''
): ApiPath<P> {
  const filled = path.replace(/:(\w+)/g, (_, name: Parameters<P>) => encodeURIComponent(parameters[name]))
  const search = String(query).replace(/^\?/, '')
  return `${filled}${search && '?'}${search}` as ApiPath<P>
}

export async function read<P extends Path>(address: ApiPath<P>, options: Options = {}): Promise<Answer<'GET', P>> {
  return JSON.parse(await fetchText(address, options))
}

/** Returns the response as a string, as the server sent it. */
export async function fetchText(address: string, options: Options = {}): Promise<string> {
  let pause = FIRST_PAUSE_MS
  for (;;) {
    try {
      const response = await ask('GET', address, options)
      connection.set('fine')
      return await response.text()
    } catch (error) {
      if (options.signal?.aborted) throw error
      if (error instanceof ApiError && error.status === 401 && options.visitor === undefined) {
        await untilSignedIn('ended', options.signal)
        continue
      }
      if (!isAway(error)) throw error
      connection.set('lost')
      await wait(pause, options.signal)
      pause = Math.min(pause * 2, LONGEST_PAUSE_MS)
    }
  }
}

export async function write<M extends Exclude<Method, 'GET'>, P extends Path>(
  method: M,
  address: ApiPath<P>,
  options: Options = {}
): Promise<Answer<M, P>> {
  const text = await writeForText(method, address, options)
  return JSON.parse(text === '' ? 'null' : text)
}

/** Returns the response as a string, as the server sent it. */
export async function writeForText(method: string, address: string, options: Options = {}): Promise<string> {
  for (;;) {
    try {
      const response = await ask(method, address, options)
      connection.set('fine')
      return await response.text()
    } catch (error) {
      const wanted = error instanceof ApiError && options.visitor === undefined ? signInFor(error) : undefined
      if (wanted === undefined || !(await untilSignedIn(wanted, options.signal))) throw error
    }
  }
}

function signInFor({ status, code }: ApiError): 'ended' | 'fresh' | undefined {
  if (status === 401) return 'ended'
  return code === 'fresh_sign_in_required' ? 'fresh' : undefined
}

async function ask(method: string, path: string, { body, signal }: Options): Promise<Response> {
  const response = await fetch(new URL(`api/${path}`, document.baseURI), {
    method,
    credentials: 'same-origin',
    ...(signal !== undefined && { signal }),
    ...(method !== 'GET' && { headers: { 'content-type': 'application/json' } }),
    ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) })
  }).catch(error => {
    if (signal?.aborted) throw error
    throw new ApiError(0, 'away', 'The server is not responding.', undefined)
  })
  if (response.ok) return response
  const text = await response.text().catch(() => '')
  throw readError(response, text)
}

function readError(response: Response, text: string): ApiError {
  const requestId = response.headers.get('x-request-id') ?? undefined
  try {
    const { error } = JSON.parse(text) as { error: { code: string; message: string } }
    return new ApiError(response.status, error.code, error.message, requestId)
  } catch {
    // The response may be a proxy's own error page.
    return new ApiError(
      response.status,
      'unknown',
      `The server responded with ${response.status} ${response.statusText}.`,
      requestId
    )
  }
}

/** Returns whether the server gave no response. The request may nevertheless have been processed. */
export function isAway(error: unknown): boolean {
  return error instanceof ApiError && [0, 502, 503, 504].includes(error.status)
}

/** Resolves to true if the user signed in, and to false if the user cancelled. */
function untilSignedIn(wanted: 'ended' | 'fresh', signal: AbortSignal | undefined): Promise<boolean> {
  signInWanted.set(wanted)
  return new Promise((resolve, reject) => {
    const end = signInWanted.follow(now => {
      if (now !== 'no' && now !== 'cancelled') return
      end()
      resolve(now === 'no')
    })
    signal?.addEventListener('abort', () => {
      end()
      reject(signal.reason)
    })
  })
}

function wait(ms: number, signal: AbortSignal | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms)
    signal?.addEventListener('abort', () => {
      clearTimeout(timer)
      reject(signal.reason)
    })
  })
}

export function errorMessageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
