import t from 'tap'
import { unlistedBy } from '../../../../../plugins/dashboard/app/list/unlisted.ts'
import { readQuery, writeQuery } from '../../../../../plugins/dashboard/app/state/list-query.ts'

const unlisted = (search: string) => {
  const query = unlistedBy(readQuery(search))
  return query && writeQuery(query)
}

t.test('the traces that an order leaves out meet all filters and lack the number', t => {
  t.equal(unlisted('?sort=costliest'), '?noCost=true')
  t.equal(unlisted('?sort=costliest&tag=vip&range=24h&after=x'), '?noCost=true&range=24h&tag=vip')
  t.equal(unlisted('?sort=slowest&user=ada&runs=only'), '?status=running&user=ada&runs=only')
  t.equal(unlisted('?sort=slowest&status=running'), '?status=running')
  t.end()
})

t.test('no trace is left out if the order is by time, or if the filters require the number', t => {
  for (const search of [
    ...['', '?status=running', '?sort=newest&tag=vip'],
    ...['?sort=slowest&status=error', '?sort=slowest&minDuration=5', '?sort=slowest&maxDuration=5'],
    ...['?sort=costliest&minCost=1', '?sort=costliest&maxCost=1', '?sort=costliest&noCost=true']
  ]) {
    t.equal(unlisted(search), undefined, search)
  }
  t.end()
})
