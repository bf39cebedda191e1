#!/usr/bin/env node
import { complainOfNode } from './node-version.ts'

const complaint = complainOfNode(process.versions.node)
if (complaint === undefined) {
  // Loaded here because an old version of Node fails on these modules' imports.
  const [{ runCommandLine }, { commands }] = await Promise.all([
    import('./command-line.ts'),
    import('./commands/index.ts')
  ])
  const code = await runCommandLine(commands, process.argv.slice(2), process)
  // A server that did not stop cleanly has already set an exit code, which 0 must not replace.
  if (code !== 0) process.exitCode = code
} else {
  console.error(`spoor: ${complaint}`)
  process.exitCode = 1
}
