/** Migrates the schema, on a single PostgreSQL or a cluster. */
import type { Database } from '../database/database.ts'
import { migrate } from '../database/migrate.ts'
import type { Logger } from '../log.ts'
import { distributeNew } from './distribution.ts'

/**
 * Like `migrate` (lib/database/migrate.ts), but if traces are distributed, also distributes the tables that a migration
 * creates, in the migration's transaction. `folder` replaces sql/ in tests.
 */
export const migrateSchema = (database: Database, log: Logger, folder?: string): Promise<number[]> =>
  migrate(database, log, folder, distributeNew)
