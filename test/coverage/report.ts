/** Reports the code coverage that Node has measured, with the sources' lines, by c8. */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { install } from '../sdks/install.ts'

const FOLDER = fileURLToPath(new URL('../../../test/coverage', import.meta.url))
/** The minimum, in percent. */
const LEAST = { statements: 85, branches: 75, functions: 85, lines: 85 }

/** Prints the coverage of each file in a folder of measurements. Returns whether it reaches the minimum. */
export function reportCoverage(measurements: string): boolean {
  const c8 = join(install(FOLDER), 'c8/bin/c8.js')
  const bounds = Object.entries(LEAST).map(([name, percent]) => `--${name}=${percent}`)
  const options = [`--temp-directory=${measurements}`, '--exclude=build/test', '--merge-async']
  const { status } = spawnSync(process.execPath, [c8, 'report', '--check-coverage', ...bounds, ...options], {
    stdio: 'inherit'
  })
  return status === 0
}
