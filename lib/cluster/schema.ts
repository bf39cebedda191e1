/** The schema, on one PostgreSQL or on a cluster, brought up to what this version of the code needs. */
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import type { Logger } from '../log.ts'
import { distributeNew } from './distribution.ts'

/**
 * As `migrate` (lib/database/migrate.ts). Where traces are distributed, so are the tables that a migration makes, in
 * its own transaction. `folder` is a folder of migrations in place of sql/, for tests.
 */
export const migrateSchema = (database: Database, log: Logger, folder?: string): Promise<number[]> =>
  migrate(database, log, folder, distributeNew)
