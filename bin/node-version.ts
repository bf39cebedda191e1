/**
 * Says that this Node is too old, instead of the stack trace that it would end with. Imports nothing: old Nodes read
 * it.
 */

/** The least version, as package.json has it: `>=20.19`. */
const LEAST = [20, 19] as const

/** One line for a user whose Node, such as 18.20.4, is too old; undefined if it is not. */
export function complainOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])
  return isEnough
    ? undefined
    : `spoor needs Node.js ${LEAST.join('.')} or newer, and this is ${version}: update Node.js`
}
