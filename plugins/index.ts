/** Every resource of the API, in the order of the document: start reading here. */
import type { Plugin } from '../lib/app.ts'
import health from './health.ts'
import key from './key.ts'
import meta from './meta.ts'
import record from './traces/record.ts'

export const plugins: readonly Plugin[] = [meta, key, record, health]
