#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { commands } from './commands/index.ts'

const code = await runCommandLine(commands, process.argv.slice(2), process)
// A server that did not stop in good order has set a code itself; 0 must not replace it.
if (code !== 0) process.exitCode = code
