import { readFileSync } from 'node:fs'

/**
 * The version of this package. The file is read, not imported: an import would make the compiler copy it into build/,
 * where the copy would take its place.
 */
export const VERSION: string = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')).version
