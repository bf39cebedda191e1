import t from 'tap'
import { repackHistories } from '../../../fixtures/database/repack-histories.ts'
import { isLong } from '../../../torture/orders.ts'

t.test('repacking is invisible, whatever is recorded, changed and deleted', t => repackHistories(t, isLong ? 300 : 4))
