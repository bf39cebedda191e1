/**
 * `npm run test:sdks`: installs the libraries of test/sdks, compiles the tests that use them, and runs these tests:
 * OpenTelemetry's senders, and the wrappers of model providers' SDKs. The suite also tests the TypeScript client's
 * package and client generators, which need another version of TypeScript. `.ci/run` includes them. `--build-only` ends
 * before the tests: compiling also writes modules that other tests load, so nothing else may run meanwhile.
 */
import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { SDKS } from '../suites.ts'
import { installSdks } from './install.ts'

const at = (path: string) => fileURLToPath(new URL(path, import.meta.url))

const parameters = process.argv.slice(2)
const isBuildOnly = parameters.includes('--build-only')
installSdks()
const compile = [at('../../../node_modules/typescript/bin/tsc'), '-p', at('../../../test/sdks')]
const test = [at('../run.js'), `--suite=${SDKS}`, ...parameters]
const steps = isBuildOnly ? [compile] : [compile, test]
process.exitCode = steps.every(args => spawnSync(process.execPath, args, { stdio: 'inherit' }).status === 0) ? 0 : 1
