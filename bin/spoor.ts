#!/usr/bin/env node
import { runCommandLine } from './command-line.ts'
import { commands } from './commands/index.ts'

process.exitCode = await runCommandLine(commands, process.argv.slice(2), process)
