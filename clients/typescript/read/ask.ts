/** Sends one API request. Loaded when the application first reads stored data. */
import { parseAnswer } from '../send/answer.ts'
import type { Transport } from '../send/transport.ts'
import type { Ask } from './reads.ts'
import { SpoorError } from './spoor-error.ts'

export async function ask<T>(transport: Transport, ...[method, path, given]: Parameters<Ask>): Promise<T> {
  const isQuery = method === 'GET'
  const body = isQuery || given === undefined ? undefined : JSON.stringify(given)
  const { status, text } = await transport.send(method, path + (isQuery ? queryText(given) : ''), body)
  if (status !== 200) throw errorOf(status, text)
  return JSON.parse(text)
}

function queryText(query: object = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  const texts = given.map(([name, value]): [string, string] => [name, String(value)])
  return texts.length === 0 ? '' : `?${new URLSearchParams(texts)}`
}

function errorOf(status: number, text: string): SpoorError {
  const { code, message, requestId } = (parseAnswer(text)?.error ?? {}) as Record<string, string | undefined>
  const said = code === undefined ? (status === 0 ? text : `HTTP ${status}`) : `${code}: ${message}`
  return new SpoorError(said, status, code, requestId)
}
