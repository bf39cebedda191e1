/** Routes that record, list, read, change and delete traces. */
import type { App } from '../../lib/app.ts'
import deleteTrace from './delete.ts'
import getTrace from './get.ts'
import listTraces from './list.ts'
import patchTrace from './patch.ts'
import recordTrace from './record.ts'

export default function traces(app: App): void {
  recordTrace(app)
  listTraces(app)
  getTrace(app)
  patchTrace(app)
  deleteTrace(app)
}
