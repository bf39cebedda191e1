/** The process in Node, Bun and Deno. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { resolve } from 'node:path'
import type { Step } from '../../record/step.ts'
import type { Platform } from '../types.ts'

const platform: Platform = {
  environment: process.env,
  obstacle: undefined,
  warn: text => void process.stderr.write(`${text}\n`),
  newContext: () => new AsyncLocalStorage<Step>(),
  // The application may change its working directory later.
  absolutePath: path => resolve(path)
}
export default platform
