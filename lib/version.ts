import { readFileSync } from 'node:fs'

/**
 * The version of this package. package.json is read and not imported, because an import would make the compiler copy
 * it into build/, where the copy would be found in place of the real one.
 */
export const VERSION: string = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')).version
