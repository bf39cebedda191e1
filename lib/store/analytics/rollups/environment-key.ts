/** The key of an environment: rollups that are not of a family are stored under it. */
import { hashInSql } from '../../../rows/list-numbers.ts'

/** SQL of the key of an environment, which may be null. */
export const environmentKeyInSql = (environment: string): string => hashInSql(`coalesce(${environment}, '')`, '0')
