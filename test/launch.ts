/**
 * Runs a suite in a process without tap's loader, which tap gives to each process that it starts. The loader serves
 * coverage alone, but loads each module of the service in another thread. In each process and worker thread, that takes
 * longer than the rest of the start.
 */
import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { NODE } from './fixtures/node.ts'

/** The suite writes its results directly to this process's output, and this process ends as the suite does. */
export function launch(suite: URL): void {
  const [command, ...args] = [...NODE, fileURLToPath(suite)]
  const child = spawn(command!, args, { stdio: 'inherit' })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => child.kill(signal))
  child.on('error', error => {
    throw error
  })
  child.on('exit', (code, signal) => {
    process.exitCode = signal === null ? code! : 1
  })
}
