/** Determines who wrote a text: the role of the message that contains the text, such as `user` or `system`. */

/** Roles of messages that instruct the model. They are the same in every trace of an application. */
const INSTRUCTING: readonly (string | null)[] = ['system', 'developer']

export const isInstructing = (role: string | null): boolean => INSTRUCTING.includes(role)

/** Matches a JSON string, which may be truncated, or a character of the structure. */
const TOKEN = /"((?:[^"\\]|\\.)*)"?|[{}[\]:,]/gs

interface Frame {
  key: string | undefined
  role: string | null
  /** Whether the object or array contains the text. */
  holds: boolean
}

const emptyFrame = (): Frame => ({ key: undefined, role: null, holds: false })

/**
 * Returns the role of the innermost object that has a role and contains a string that begins with `text`. Returns null
 * if there is none. The JSON may be truncated.
 */
export function roleOf(json: string, text: string): string | null {
  const frames = [emptyFrame()]
  /** The last string, which is a key if a colon follows. */
  let pending: string | undefined
  const take = () => {
    const frame = frames.at(-1)!
    if (pending !== undefined && frame.key === 'role') frame.role = pending
    else if (pending?.startsWith(text)) frame.holds = true
    pending = undefined
  }
  /** Closes the innermost object or array. Returns whether its role is the one sought. */
  const close = (): string | null => {
    const { role, holds } = frames.pop()!
    if (!holds || role !== null) return holds ? role : null
    const outer = frames.at(-1)
    if (outer !== undefined) outer.holds = true
    return null
  }
  for (const [token, inside] of json.matchAll(TOKEN)) {
    if (inside !== undefined) pending = decoded(inside)
    else if (token === ':') {
      frames.at(-1)!.key = pending
      pending = undefined
    } else {
      take()
      if (token === '{' || token === '[') frames.push(emptyFrame())
      else if (token === ',') frames.at(-1)!.key = undefined
      else if (frames.length > 1) {
        const role = close()
        if (role !== null) return role
      }
    }
  }
  take()
  while (frames.length > 0) {
    const role = close()
    if (role !== null) return role
  }
  return null
}

function decoded(inside: string): string {
  try {
    return JSON.parse(`"${inside}"`)
  } catch {
    return inside
  }
}
