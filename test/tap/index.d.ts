import type { TAP } from '@tapjs/core'

export type { Test } from '@tapjs/test'

declare const t: TAP
export default t
