/**
 * Defines the contract between the service and its plugins. A plugin is a function that receives the App and registers
 * routes on it (lib/http/route.ts).
 */
import type { TObject } from 'typebox'
import type { Config } from './config.ts'
import type { SqlAccess } from './database/sql-access.ts'
import type { Cookie, CookieHome } from './http/people/cookie.ts'
import type { Route, RouteOptions } from './http/route.ts'
import type { Ingest } from './ingest/ingest.ts'
import type { SharedGate } from './limits/shared-gate.ts'
import type { Logger } from './log.ts'
import type { Metrics } from './metrics.ts'
import type { Bodies } from './threads/bodies.ts'

export interface App {
  readonly config: Config
  readonly log: Logger
  readonly sql: SqlAccess
  /** Gate at which projects take turns for long reads. A read's weight is the size of its response in bytes. */
  readonly largeReads: Pick<SharedGate, 'run'>
  /** Gate for responses that are sent while the database is still being read. */
  readonly streams: Pick<SharedGate, 'run'>
  readonly ingest: Ingest
  readonly bodies: Pick<Bodies, 'parse'>
  readonly metrics: Metrics
  /** Counts records that are not kept. Returns the record names to report to the sender. */
  readonly unkept: {
    add(projectId: number, signal: 'logs' | 'metrics', counts: ReadonlyMap<string, number>): readonly string[]
  }
  readonly cookie: Cookie
  /** KEY_DIGEST_SECRET and its predecessor, which cookies, new keys and second factors depend on. */
  readonly secrets: CookieHome
  readonly routes: readonly Route[]
  /**
   * Resolves to the reasons why a write would currently be rejected, a few words each; empty if writes are accepted.
   */
  readiness(): Promise<readonly string[]>
  /** Returns this deployment's id; undefined until the database has responded. */
  instance(): string | undefined
  /** Clears this process's caches of keys and people after a key or person has changed. */
  forget(): void
  /** Describes missing connections and background work that lags behind, a few words each. */
  lacks(): readonly string[]
  route<Q extends TObject>(route: RouteOptions<Q>): void
}

/** Registers one resource's routes. plugins/index.ts lists all plugins. */
export type Plugin = (app: App) => void | Promise<void>
