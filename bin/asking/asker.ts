/** Requests to the API, from commands that read and change recorded data. */

export type HttpMethod = 'GET' | 'POST' | 'DELETE'

export interface Asker {
  /** Returns the JSON of a successful response. Throws a user-facing error if the request is rejected. */
  ask(method: HttpMethod, path: string, body?: object): Promise<string>
}

type Value = string | number | boolean | undefined
export type QueryMembers = Readonly<Record<string, Value | readonly string[]>>

/** Returns a path with its query. Skips undefined members, and repeats the parameter for each value of a list. */
export function requestPath(path: string, query: QueryMembers): string {
  const given = new URLSearchParams()
  for (const [name, value] of Object.entries(query)) {
    const values = Array.isArray(value) ? value : value === undefined ? [] : [value]
    for (const each of values) given.append(name, String(each))
  }
  return given.size === 0 ? path : `${path}?${given}`
}
