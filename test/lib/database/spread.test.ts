import t from 'tap'
import { stateOfCopy } from '../../../lib/database/spread.ts'

t.test('a COPY that fails on a worker has the SQLSTATE of its message', async t => {
  const states = {
    'duplicate key value violates unique constraint "traces_id_102008"': '23505',
    'duplicate key value violates unique constraint "spans_pkey_102016"': '23505',
    'could not extend file "base/16384/2619": No space left on device': '53100',
    'could not write to file "pg_wal/xlogtemp.7": No space left on device': '53100',
    'out of memory': '53200',
    'out of shared memory': '53200',
    'cannot execute COPY FROM in a read-only transaction': '25006',
    'canceling statement due to lock timeout': '55P03',
    'canceling statement due to statement timeout': '57014',
    'terminating connection due to administrator command': '57P01',
    'deadlock detected': '40P01',
    'duplicate key value violates unique constraint "pg_class_oid_index"': 'XX000',
    'cache lookup failed for relation 7': 'XX000'
  }
  for (const [message, state] of Object.entries(states)) {
    t.equal(stateOfCopy('XX000', message), state, message)
    t.equal(stateOfCopy('22P02', message), '22P02', 'an error with its own SQLSTATE keeps it')
  }
})
