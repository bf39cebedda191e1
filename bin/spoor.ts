#!/usr/bin/env node
import { complainOfNode } from './node-version.ts'

const complaint = complainOfNode(process.versions.node)
if (complaint === undefined) {
  // Imported here because an old version of Node fails to load these modules.
  const [{ runCommandLine }, { commands }] = await Promise.all([
    import('./command-line.ts'),
    import('./commands/index.ts')
  ])
  const code = await runCommandLine(commands, process.argv.slice(2), process)
  // If a server did not stop cleanly, an exit code is already set, and success must not overwrite that code.
  if (code !== 0) process.exitCode = code
} else {
  console.error(`spoor: ${complaint}`)
  process.exitCode = 1
}
