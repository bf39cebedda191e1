/** All rows of the table, in the table's order. */
import type { Row } from './row.ts'
import { clientRows } from './rows/clients.ts'
import { frameworkRows } from './rows/frameworks.ts'
import { openInferenceRows } from './rows/open-inference.ts'

export const rows: readonly Row[] = [...clientRows, ...openInferenceRows, ...frameworkRows]
