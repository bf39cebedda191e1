/**
 * Reports an outdated version of Node, which would otherwise fail with a stack trace. This file imports nothing, so
 * that old versions of Node can load the file.
 */

/** The minimum version, as in package.json: `>=20.19`. */
const LEAST = [20, 19] as const

/** Returns a one-line error for an outdated version of Node, such as 18.20.4; undefined for a supported version. */
export function complainOfNode(version: string): string | undefined {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const isEnough = major > LEAST[0] || (major === LEAST[0] && minor >= LEAST[1])
  return isEnough
    ? undefined
    : `spoor needs Node.js ${LEAST.join('.')} or newer, but this is ${version}: update Node.js`
}
