/**
 * The tables of the projects of a batch. On one PostgreSQL they are those of the schema. Otherwise a project has a
 * home: tables of other names, on a server of their own, which may be moved to another server at any time.
 */
import { SCHEMA_NAMES, type TableNames } from '../../database/tables.ts'

export interface Home {
  readonly id: number
  readonly names: TableNames
}

/** The homes of all projects of a batch, which are on one server. */
export interface Homes {
  of(projectId: number): Home
  /**
   * Begin the transaction, each with the ids of the homes as its one parameter, a `bigint[]`. They keep the homes
   * where they are until its end, and fail if one is not there.
   */
  readonly guards: readonly { readonly name: string; readonly text: string }[]
}

/** The tables that a statement is prepared for. */
export interface Tables {
  readonly names: TableNames
  /** The end of the names of statements that were prepared for these tables. */
  readonly suffix: string
}

const SCHEMA: Tables = { names: SCHEMA_NAMES, suffix: '' }

/** Undefined: the tables of the schema. */
export const tablesOf = (home: Home | undefined): Tables =>
  home === undefined ? SCHEMA : { names: home.names, suffix: `_${home.id}` }
