import t from 'tap'
import { mayBeChance, shareSample } from '../../../../../plugins/dashboard/app/groups/difference.ts'

t.test('small samples and small differences may be chance', t => {
  const rates = (a: [number, number], b: [number, number]) => mayBeChance(shareSample(...a), shareSample(...b))
  t.ok(rates([0, 3], [3, 3]), 'three traces prove nothing')
  t.ok(rates([5, 50], [7, 50]))
  t.notOk(rates([50, 500], [100, 500]))
  t.notOk(rates([0, 100], [20, 100]), 'even if one side never failed')
  t.ok(rates([0, 0], [1, 100]))
  const mean = (mean: number, deviation: number) => ({ count: 100, mean, deviation })
  t.notOk(mayBeChance(mean(0.5, 0.1), mean(0.7, 0.1)))
  t.ok(mayBeChance(mean(0.5, 1), mean(0.7, 1)))
  t.ok(mayBeChance(mean(1, 0), mean(1, 0)))
  t.notOk(mayBeChance(mean(1, 0), mean(2, 0)))
  t.end()
})
