#!/usr/bin/env node
import { complainOfNode } from './node-version.ts'

const complaint = complainOfNode(process.versions.node)
if (complaint === undefined) {
  // Imported here because an old version of Node fails to load these modules.
  const [{ runCommandLine }, { commands }, { startedAs }] = await Promise.all([
    import('./command-line.ts'),
    import('./commands/index.ts'),
    import('./terminal/started-as.ts')
  ])
  const { env, stdout, stderr, argv } = process
  const [, script = '', ...words] = argv
  const code = await runCommandLine(commands, words, { env, stdout, stderr, started: startedAs(script, env) })
  // If a server did not stop cleanly, an exit code is already set, and success must not overwrite that code.
  if (code !== 0) process.exitCode = code
} else {
  console.error(`spoor: ${complaint}`)
  process.exitCode = 1
}
