/**
 * The contract between the service and its plugins. A plugin is a function that gets the App and registers routes on it
 * (lib/http/route.ts).
 */
import type { TObject } from 'typebox'
import type { Config } from './config.ts'
import type { SqlAccess } from './database/sql-access.ts'
import type { Cookie } from './http/people/cookie.ts'
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
  /** Reads that take long enter by it, each project in its turn. The weight is bytes of the answer. */
  readonly largeReads: Pick<SharedGate, 'run'>
  readonly ingest: Ingest
  readonly bodies: Pick<Bodies, 'parse'>
  readonly metrics: Metrics
  /** The cookie of the dashboard's sessions. */
  readonly cookie: Cookie
  /** KEY_DIGEST_SECRET; undefined while it is not set. */
  readonly digestSecret: string | undefined
  readonly routes: readonly Route[]
  /** Resolves to the reasons why a write would be refused now, a few words each; empty if writes are accepted. */
  readiness(): Promise<readonly string[]>
  /** What tells this deployment from others; undefined until the database has answered. */
  instance(): string | undefined
  /** Forgets what this process remembers of keys and people, some of which has changed. */
  forget(): void
  /** What this process lacks, a few words for each. It works without, but more slowly. */
  lacks(): readonly string[]
  route<Q extends TObject>(route: RouteOptions<Q>): void
}

/** Registers one resource's routes. The list is plugins/index.ts. */
export type Plugin = (app: App) => void | Promise<void>
