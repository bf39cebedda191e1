import t from 'tap'
import { KnownFamilies } from '../../../../lib/store/write/known-families.ts'

const traceOf = (projectId: number, family: string) => ({ projectId, rows: { family } })

t.test('a family is known within its project, and the latest families stay known, however many arrive', t => {
  const known = new KnownFamilies()
  known.add(traceOf(1, 'first'))
  t.ok(known.has(traceOf(1, 'first')))
  t.notOk(known.has(traceOf(2, 'first')))
  for (let i = 0; i < 25_000; i++) known.add(traceOf(1, `made up ${i}`))
  t.ok(known.has(traceOf(1, 'made up 24999')))
  t.notOk(known.has(traceOf(1, 'first')), 'the memory is bounded')
  t.end()
})
