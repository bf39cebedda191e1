/** Platforms without files and without a signal at the end: there is no spool. */
import type { Spool, SpoolLook } from '../node/storage.ts'

type Node = typeof import('../node/storage.ts')

export const openSpool: Node['openSpool'] = () => undefined

export const lookInSpool: Node['lookInSpool'] = async () => ({ taken: 0, isAgain: false })

/** Nothing announces the end. Applications call `flush` or use `flushEach`. */
export const onEnding: Node['onEnding'] = () => () => {}

export type { Spool, SpoolLook }
