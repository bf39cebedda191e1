/** Computes environment keys, under which rollups that do not belong to a family are stored. */
import { hashInSql } from '../../../rows/list-numbers.ts'

/** Returns SQL for an environment's key. The environment may be null. */
export const environmentKeyInSql = (environment: string): string => hashInSql(`coalesce(${environment}, '')`, '0')
