import fc from 'fast-check'
import t from 'tap'
import { downloadName, filterText } from '../../../../../plugins/dashboard/app/list/download-name.ts'
import { linesOf } from '../../../../../plugins/dashboard/app/list/score-columns.ts'
import { readQuery } from '../../../../../plugins/dashboard/app/state/list-query.ts'

const AT = { now: Date.parse('2026-11-28T23:30:00Z'), offset: 0 }

t.test('a file name has the project, the filters and the date in the visitor’s time zone', t => {
  const name = (search: string, present = AT) =>
    downloadName('shop', `traces ${filterText(readQuery(search))}`, 'csv', present)
  t.equal(name(''), 'spoor-shop-traces-2026-11-28.csv')
  t.equal(name('?status=error&tag=prompt%3Av12'), 'spoor-shop-traces-status-error-tag-prompt-v12-2026-11-28.csv')
  t.equal(name('?minCost=0.1&runs=only'), 'spoor-shop-traces-runs-only-cost-over-0.1-2026-11-28.csv')
  t.equal(name('?name=Müllers%20%2F..%2FBestellung'), 'spoor-shop-traces-name-Müllers-Bestellung-2026-11-28.csv')
  t.equal(name('', { ...AT, offset: 60 }), 'spoor-shop-traces-2026-11-29.csv')
  t.equal(name(`?user=${'x'.repeat(500)}`).length, 'spoor-shop--2026-11-28.csv'.length + 60)
  const safe = /^spoor-shop-traces(?:-[\p{L}\p{M}\p{N}._]+)*-2026-11-28\.csv$/u
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), text => safe.test(downloadName('shop', `traces ${text}`, 'csv', AT)))
  )
  t.end()
})

t.test('each score name is a column, with empty cells where a trace has no such score', t => {
  const rows = [
    { cells: '1,a', scores: { helpful: 0.5, tone: '=cmd()' } },
    { cells: '2,b', scores: {} },
    { cells: '3,c', scores: Object.fromEntries([['__proto__', true] as const, ['a-1', -1], ['helpful', false]]) }
  ]
  t.same(linesOf('id,name', rows), [
    'id,name,score:__proto__,score:a-1,score:helpful,score:tone\r\n',
    "1,a,,,0.5,'=cmd()\r\n",
    '2,b,,,,\r\n',
    '3,c,true,-1,false,\r\n'
  ])
  t.same(linesOf('id,name', [{ cells: '1,a', scores: {} }]), ['id,name\r\n', '1,a\r\n'])
  t.end()
})
