/** The numbers of environments, under which sums of all their families stand. */
import { hashInSql } from '../../../rows/list-numbers.ts'

/** SQL of the number of an environment, which may be null. */
export const placeInSql = (environment: string): string => hashInSql(`coalesce(${environment}, '')`, '0')
