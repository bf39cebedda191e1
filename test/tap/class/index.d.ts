import type { plugin as after } from '@tapjs/after'
import type { plugin as asserts } from '@tapjs/asserts'
import type { plugin as before } from '@tapjs/before'
import type { plugin as beforeEach } from '@tapjs/before-each'
import type { PromiseWithSubtest, TestBase, TestBaseOpts } from '@tapjs/core'
import type { plugin as fixture } from '@tapjs/fixture'
import type { plugin as intercept } from '@tapjs/intercept'

type Plugins = ReturnType<typeof after> &
  ReturnType<typeof asserts> &
  ReturnType<typeof before> &
  ReturnType<typeof beforeEach> &
  ReturnType<typeof fixture> &
  ReturnType<typeof intercept>

export type TestOpts = TestBaseOpts & Parameters<typeof fixture>[1]

interface Subtest {
  (name: string, extra: TestOpts, cb: (t: Test) => unknown): PromiseWithSubtest<Test>
  (name: string, cb: (t: Test) => unknown): PromiseWithSubtest<Test>
}

export interface Test extends Plugins {}

export declare class Test extends TestBase {
  constructor(options: TestOpts)
  test: Subtest
}
