/** The way of a batch: over which server it is written, and into which tables. */
import type { Host } from '../../database/sockets/address.ts'
import type { Homes } from './homes.ts'

export interface Route {
  /** Undefined: the server at the address of the database. */
  readonly host: Host | undefined
  readonly homes: Homes | undefined
}

export const BY_ADDRESS: Route = { host: undefined, homes: undefined }

/** Batches report to the finder of routes which obstacles they met. */
export interface RouteNews {
  /** Tables are not where they were. */
  forget(): void
  /** A server could not be reached, or the connection to it was lost. */
  avoid(host: Host, error: unknown): void
  /** A batch has waited in vain for the tables of a home: those of others need not wait with it. */
  hold(home: number): void
}
