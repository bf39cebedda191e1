#!/usr/bin/env node
import { complainOfNode } from './node-version.ts'

const complaint = complainOfNode(process.versions.node)
if (complaint === undefined) {
  // Loaded only now, because an old Node fails on what is imported there.
  const [{ runCommandLine }, { commands }] = await Promise.all([
    import('./command-line.ts'),
    import('./commands/index.ts')
  ])
  const code = await runCommandLine(commands, process.argv.slice(2), process)
  // A server that did not stop in good order has set a code itself; 0 must not replace it.
  if (code !== 0) process.exitCode = code
} else {
  console.error(`spoor: ${complaint}`)
  process.exitCode = 1
}
