/** The process in Node, Bun and Deno. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { resolve } from 'node:path'
import type { Step } from '../../record/step.ts'
import type { Context, Environment } from '../types.ts'

export const environment: Environment = process.env

/** Reason why nothing can be recorded on this platform, if any. */
export const platformObstacle: string | undefined = undefined

export const warn = (text: string): void => void process.stderr.write(`${text}\n`)

export const newContext = (): Context => new AsyncLocalStorage<Step>()

/** Returns an absolute path, because the application may change its working directory later. */
export const absolutePath = (path: string): string | undefined => resolve(path)
