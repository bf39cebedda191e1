import { setTimeout as delay } from 'node:timers/promises'
import { request, WebSocket } from 'undici'
import { dataFolder, type Serving, serve } from '../../fixtures/service/spoor.ts'
import { until } from '../../fixtures/until.ts'
import { checkLoad, startLoad } from '../load/load.ts'
import { figure, longTest, minutes } from '../orders.ts'

/** Duration of the full load, which measures the server's top rate. Then half of that rate is sent. */
const FULL_MS = 20_000
const HALF_MS = minutes * 60_000
const SAMPLE_MS = 1000
/**
 * The run is divided into quarters. The first warms the server up (code is compiled, and pools and the heap reach their
 * size). The second is compared with the fourth.
 */
const QUARTERS = 4
/**
 * Maximum growth from the second to the fourth quarter: a factor and an amount for resident memory, and amounts for
 * live objects and for connections (pools may still open some).
 */
const MOST_GROWTH = 1.1
const MOST_RESIDENT_MIB = 32
const MOST_HEAP_MIB = 2
const MOST_CONNECTIONS = 8
const MIB = 1024 * 1024

interface Sample {
  readonly residentMib: number
  readonly descriptors: number
}

const median = (list: number[]) => list.sort((one, other) => one - other)[Math.floor(list.length / 2)]!

/** Returns the heap size after a garbage collection in MiB, from a server's inspector. */
async function measureHeap(serving: Serving): Promise<number> {
  await until(() => serving.err.includes('ws://'))
  const socket = new WebSocket(/ws:\S+/.exec(serving.err)![0])
  await new Promise(resolve => socket.addEventListener('open', resolve))
  const ask = (id: number, method: string) =>
    new Promise<{ result: { usedSize: number } }>(resolve => {
      socket.addEventListener('message', ({ data }) => {
        const answer = JSON.parse(data)
        if (answer.id === id) resolve(answer)
      })
      socket.send(JSON.stringify({ id, method }))
    })
  await ask(1, 'HeapProfiler.collectGarbage')
  const { result } = await ask(2, 'Runtime.getHeapUsage')
  socket.close()
  return result.usedSize / MIB
}

longTest('half of the maximum load does not grow memory or file descriptors', async t => {
  const { address, key, serving } = await serve(t, { DATA_DIR: await dataFolder(t) }, ['--inspect=127.0.0.1:0'])
  const unavailable = { lists: 0 }
  const get = async (path: string) => {
    const { statusCode, body } = await request(address + path, { headers: { authorization: `Bearer ${key}` } })
    const text = await body.text()
    if (statusCode === 503) unavailable.lists++
    else if (statusCode !== 200) t.fail(`${path}: ${statusCode}`)
    return text
  }
  const sample = async (): Promise<Sample> => {
    const text = await get('/metrics')
    const metric = (name: string) => Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1])
    return {
      residentMib: metric('process_resident_memory_bytes') / MIB,
      descriptors: metric('process_open_fds')
    }
  }

  const start = performance.now()
  const full = startLoad(address, key!)
  await delay(FULL_MS)
  await until(() => full.answered() > 0)
  const perSecond = (full.answered() * 1000) / (performance.now() - start)
  await full.stop()

  const half = startLoad(address, key!, perSecond / 2)
  const samples: Sample[][] = []
  const heaps: number[] = []
  for (let quarter = 1; quarter <= QUARTERS; quarter++) {
    const list: Sample[] = []
    samples.push(list)
    const end = performance.now() + HALF_MS / QUARTERS
    do {
      list.push(await sample())
      await get('/api/v1/traces?limit=20')
      await get('/api/v1/scores?limit=20')
      report()
      await delay(SAMPLE_MS)
    } while (performance.now() < end)
    heaps.push(await measureHeap(serving))
  }
  await half.stop()
  report()
  await checkLoad(t, address, key!, [full, half])

  const mostDescriptors = typical(2, 'descriptors') + MOST_CONNECTIONS
  t.ok(typical(4, 'descriptors') <= mostDescriptors, `at most ${mostDescriptors} file descriptors`)
  const [early, late] = [typical(2, 'residentMib'), typical(4, 'residentMib')]
  t.ok(late <= early * MOST_GROWTH + MOST_RESIDENT_MIB, `resident: ${early}, then ${late} MiB`)
  t.ok(heaps[3]! <= heaps[1]! + MOST_HEAP_MIB, `heap: ${heaps[1]}, then ${heaps[3]} MiB`)

  /** Returns the typical value of a quarter. Quarters are numbered from 1. */
  function typical(quarter: number, kind: keyof Sample): number {
    return median((samples[quarter - 1] ?? []).map(each => each[kind]))
  }

  function report(): void {
    const show = (kind: keyof Sample) => samples.map((_, i) => Math.round(typical(i + 1, kind))).join(', ')
    figure('requests rejected at once, per second', Math.round(perSecond))
    figure('file descriptors in each quarter', show('descriptors'))
    figure('live heap after each quarter, MiB', heaps.map(heap => heap.toFixed(1)).join(', '))
    figure('lists that got 503', unavailable.lists)
    figure('resident memory in each quarter, MiB', show('residentMib'))
    figure('2xx responses at half of that rate', half.answered())
  }
})
