/**
 * Reports that this Node is too old, instead of failing with a stack trace. Imports nothing, so that old Node versions
 * can load it.
 */

/** The minimum version, as in package.json: `>=20.19`. */
const LEAST = [20, 19] as const

/** Returns one line for a user whose Node is too old, such as 18.20.4; undefined for a supported version. */
export function complainOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])
  return isEnough
    ? undefined
    : `spoor needs Node.js ${LEAST.join('.')} or newer, and this is ${version}: update Node.js`
}
