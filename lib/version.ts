import { readFileSync } from 'node:fs'

/**
 * Version of this package. package.json is read rather than imported, because the compiler would copy an imported file
 * into build/, and the copy would then be found instead of the original.
 */
export const VERSION: string = JSON.parse(readFileSync(new URL(import.meta.resolve('#package.json')), 'utf8')).version
