/** Sends one API request. Loaded when the application first reads stored data. */
import { parseAnswer } from '../send/answer.ts'
import type { Transport } from '../send/transport.ts'
import { type Ask, SpoorError } from './reads.ts'

export async function ask<T>(transport: Transport, ...[method, path, given]: Parameters<Ask>): Promise<T> {
  const isQuery = method === 'GET'
  const body = isQuery || given === undefined ? undefined : JSON.stringify(given)
  const { status, text } = await transport.send(method, path + (isQuery ? queryText(given) : ''), body)
  if (status === 200) return JSON.parse(text)
  const { code, message, requestId } = (parseAnswer(text)?.error ?? {}) as Record<string, string | undefined>
  const said = code === undefined ? (status === 0 ? text : `HTTP ${status}`) : `${code}: ${message}`
  throw new SpoorError(said, status, code, requestId)
}

function queryText(query: object | undefined): string {
  const given = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given)}`
}
