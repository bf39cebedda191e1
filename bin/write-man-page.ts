/** Writes the manual page of the package, as part of `npm run build`. */
import { writeFileSync } from 'node:fs'
import { VERSION } from '../lib/version.ts'
import { commands } from './commands/index.ts'
import { manPage } from './terminal/man-page.ts'

writeFileSync(new URL('build/spoor.1', import.meta.resolve('#package.json')), manPage(commands, VERSION))
