/** A batch's route: the server it is written through and the tables it is written to. */
import type { Host } from '../../database/sockets/address.ts'
import type { Homes } from './homes.ts'

export interface WriteRoute {
  /** If undefined, the server at the database's address. */
  readonly host: Host | undefined
  readonly homes: Homes | undefined
}

export const BY_ADDRESS: WriteRoute = { host: undefined, homes: undefined }

/** Lets batches report obstacles to the route finder. */
export interface RouteNews {
  /** Reports that tables have moved. */
  forget(): void
  /** Reports that a server could not be reached or its connection was lost. */
  avoid(host: Host, error: unknown): void
  /** Reports that a batch waited in vain for a home's tables, so that batches for other homes need not wait. */
  hold(home: number): void
}
