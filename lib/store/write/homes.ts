/**
 * Tables of a batch's projects. On a single PostgreSQL server, these are the schema's tables. Otherwise, each project
 * has a home: tables with other names on a separate server. A home may move to another server at any time.
 */
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'

export interface Home {
  readonly id: number
  readonly names: TableNames
}

/** Homes of all projects in a batch, all on one server. */
export interface Homes {
  of(projectId: number): Home
  /**
   * Statements that begin the transaction, each with the homes' ids as its only parameter, a `bigint[]`. The statements
   * prevent the homes from moving until the transaction ends, and fail if a home is not on this server.
   */
  readonly guards: readonly { readonly name: string; readonly text: string }[]
}

export interface Tables {
  readonly names: TableNames
  /** Suffix of the names of statements prepared for these tables. */
  readonly suffix: string
}

const SCHEMA: Tables = { names: SCHEMA_NAMES, suffix: '' }

/** Returns the schema's tables if `home` is undefined. */
export const tablesOf = (home: Home | undefined): Tables =>
  home === undefined ? SCHEMA : { names: home.names, suffix: `_${home.id}` }
