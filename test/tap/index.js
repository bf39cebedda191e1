/**
 * What tests import as `tap`. The package of this name also installs tap's runner, its compilers and its mocks, which
 * are as many packages as the rest of the project. test/run.ts runs the suites, so tests need only tap's library:
 * `@tapjs/core`, whose tests are of the class in the folder `class`.
 */
import { tap } from '@tapjs/core'

export default tap()
