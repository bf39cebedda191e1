/** A batch's route: the server and the tables to which the batch is written. */
import type { Host } from '../../database/sockets/address.ts'
import type { Homes } from './homes.ts'

export interface WriteRoute {
  /** The server of the batch. If undefined, the server at the configured database address is used. */
  readonly host: Host | undefined
  readonly homes: Homes | undefined
}

export const BY_ADDRESS: WriteRoute = { host: undefined, homes: undefined }

/** Callbacks with which batches report problems to the route finder. */
export interface RouteNews {
  /** Reports that tables have moved. */
  forget(): void
  /** Reports that a server could not be reached or its connection was lost. */
  avoid(host: Host, error: unknown): void
  /** Reports that a batch timed out while waiting for a home's tables. Batches for other homes then need not wait. */
  hold(home: number): void
}
