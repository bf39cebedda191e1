/**
 * Checks the dashboard's budgets for elements, CPU time and bytes. `npm test` only counts the elements of a page that
 * shows 750 KiB. CPU time is that of the page's own thread, which other work on the machine hardly affects.
 */
import { availableParallelism } from 'node:os'
import t, { type Test } from 'tap'
import { signedIn } from '../../fixtures/service/people.ts'
import { testService } from '../../fixtures/service/service.ts'
import { hasChromium } from '../../plugins/browser.ts'
import {
  CUT_OFF,
  dialogsOf,
  isShown,
  OPENED,
  pagesOf,
  recordAll,
  THEMES,
  WIDTHS
} from '../../plugins/dashboard/browser/places.ts'
import { recordAgent, recordDeep, recordLarge, recordLong, recordWide } from '../../plugins/dashboard/browser/traces.ts'
import { type Visit, visit } from '../../plugins/dashboard/browser/visit.ts'
import { bundleBytes } from '../../plugins/dashboard/bundle.ts'
import { LiveTabs } from '../load/live-tabs.ts'
import { figure, isLong, longTest } from '../orders.ts'

const RUNS = 5
const MOST_ELEMENTS = 3000
const LONGEST_TASK_MS = 50
const LIVE_TABS = 50
/** Polling interval of a live tab, in s. */
const LOOK_S = 2

const service = await testService(t)
const { url } = service

/** Reports a figure with its limit, and checks the limit. */
function budget(t: Test, name: string, value: number, most: number, unit = ''): void {
  const rounded = Math.round(value * 10) / 10
  figure(`${name} (at most ${most.toLocaleString('en')}${unit})`, `${rounded.toLocaleString('en')}${unit}`)
  t.ok(value <= most, `${name}: ${rounded} of ${most}${unit}`)
}

const countElements = async ({ evaluate }: Visit) => (await evaluate("document.querySelectorAll('*').length")) as number

/**
 * Scrolls through a panel from its start to its end and back, like a reader. Returns the maximum number of elements.
 */
async function scrollThrough(page: Visit, step = 400, id = 'tab-panel'): Promise<number> {
  return (await page.evaluate(`new Promise(resolve => {
    const panel = document.getElementById('${id}')
    let most = 0
    let still = 0
    let step = ${step}
    const go = () => {
      const before = panel.scrollTop
      panel.scrollTop += step
      most = Math.max(most, document.querySelectorAll('*').length)
      still = panel.scrollTop === before ? still + 1 : 0
      if (still > 5 && step < 0) return resolve(most)
      if (still > 5) step = -3000
      requestAnimationFrame(go)
    }
    go()
  })`)) as number
}

longTest('a page that shows 750 KiB never has more than 3,000 elements', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const large = await recordLarge(service, 219)
  const page = await visit(t, service)
  const address = `${url}/app/p/default/traces/${large.id}?span=${large.spans[1]}`
  await page.open(address)
  await page.untilText('0: A paragraph', '.message')
  const most = await scrollThrough(page)
  t.match(await page.evaluate("document.getElementById('tab-panel').textContent"), '0: A paragraph')
  budget(t, 'elements, 750 KiB of messages scrolled through', most, MOST_ELEMENTS)
  t.same(page.errors, [])

  await t.test('nor does a page with JSON of many small values, or Markdown of many items', async t => {
    const wide = await recordWide(service)
    for (const [tab, shown] of [
      ['json', 'field'],
      ['messages', 'item 0']
    ] as const) {
      await page.open(`${url}/app/p/default/traces/${wide.id}?span=${wide.spans[tab === 'json' ? 0 : 1]}&tab=${tab}`)
      await page.untilText(shown, '#tab-panel')
      await page.evaluate(`(() => { for (const each of document.querySelectorAll('.show-all')) each.click() })()`)
      budget(t, `elements, ${tab} of many values scrolled through`, await scrollThrough(page), MOST_ELEMENTS)
    }
  })

  await t.test('no task takes more than 50 ms while the page is shown, scrolled and searched', async t => {
    const longest: number[] = []
    for (let i = 0; i < RUNS; i++) {
      const stop = await traceTasks(page)
      await page.open(address)
      await page.untilText('0: A paragraph', '.message')
      await scrollThrough(page, 1500)
      await page.press('f')
      await page.type('paragraph')
      await page.untilText('matches in', '.said')
      longest.push(await stop())
      await page.press('Escape')
    }
    figure('longest tasks of each run, CPU in ms', longest.map(Math.round).join(', '))
    budget(t, 'longest task while 750 KiB is read and searched, CPU', median(longest), LONGEST_TASK_MS, ' ms')
  })
})

longTest('two 750 KiB traces are compared without a task of more than 50 ms', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const [a, b] = [await recordLarge(service, 219), await recordLarge(service, 219, 'slim')]
  const page = await visit(t, service)
  const longest: number[] = []
  for (let i = 0; i < RUNS; i++) {
    const stop = await traceTasks(page)
    await page.open(`${url}/app/p/default/compare?a=${a.id}&b=${b.id}&span=${a.spans[1]}`)
    await page.untilText('slim', 'ins')
    await page.evaluate(`document.querySelector('.show-all')?.click()`)
    const most = await scrollThrough(page, 1500, 'compared')
    budget(t, 'elements, 750 KiB compared and scrolled through', most, MOST_ELEMENTS)
    longest.push(await stop())
  }
  figure('longest tasks of each run, CPU in ms', longest.map(Math.round).join(', '))
  budget(t, 'longest task while 750 KiB is compared, CPU', median(longest), LONGEST_TASK_MS, ' ms')
  t.same(page.errors, [])
})

if (isLong && (await hasChromium())) {
  t.test('few bytes are loaded', async t => {
    const { list, trace } = await bundleBytes()
    budget(t, 'list, scripts and styles, gzip', list, 40_000, ' B')
    budget(t, 'trace, what it loads besides, gzip', trace, 35_000, ' B')
  })

  t.test('pages render quickly', async t => {
    for (let i = 0; i < 50; i++) await recordAgent(service, { name: `trace ${i}` })
    const [deep, large, long] = [await recordDeep(service), await recordLarge(service), await recordLong(service)]
    const page = await visit(t, service)
    await page.send('Performance.enable', { timeDomain: 'threadTicks' })
    const drawn = async (name: string, path: string, until: string, most: number) => {
      const figures: number[] = []
      for (let i = 0; i < RUNS; i++) {
        await page.open(`${url}/app/p/default/${path}`)
        await page.until(until)
        figures.push(await taskMs(page))
      }
      budget(t, `${name}: CPU to its first frame`, median(figures), most, ' ms')
    }
    await drawn('list of 50', 'traces?range=all', "document.querySelectorAll('.traces a.open').length === 50", 120)
    const rows = "document.querySelectorAll('.row').length > 5 && !document.querySelector('.waiting')"
    await drawn('trace of 200 spans', `traces/${deep.id}`, rows, 220)
    await drawn('trace of 9,901 spans', `traces/${long.id}`, rows, 300)
    const span = `traces/${large.id}?span=${large.spans[1]}`
    await drawn('span of 750 KiB', span, `${rows} && !!document.querySelector('.message')`, 220)
    const picks: number[] = []
    await page.open(`${url}/app/p/default/traces/${deep.id}`)
    await page.until(rows)
    await page.evaluate("document.getElementById('spans').focus()")
    for (let i = 0; i < 10; i++) {
      // The page prefetches the next step during this time.
      await new Promise(resolve => setTimeout(resolve, 800))
      const before = await taskMs(page)
      await page.press('ArrowDown')
      await page.until(`!document.querySelector('.waiting')`)
      picks.push((await taskMs(page)) - before)
    }
    budget(t, 'a span that is loaded: CPU until it is shown', median(picks), 30, ' ms')
    const outline = `${url}/app/api/p/default/traces/${deep.id}/outline`
    const { ask } = await signedIn(service, 'reader@example.com', 'viewer')
    const times: number[] = []
    for (let i = 0; i < 200; i++) {
      const start = performance.now()
      const { status } = await ask('GET', new URL(outline).pathname)
      times.push(performance.now() - start)
      if (status !== 200) t.fail(String(status))
    }
    budget(t, 'outline of 200 spans, median', median(times.slice(20)), 5, ' ms')
  })

  t.test('on a slow network, a page shows something within a second', async t => {
    const { id } = await recordAgent(service)
    const page = await visit(t, service)
    await page.send('Network.setCacheDisabled', { cacheDisabled: true })
    const slow = { offline: false, latency: 400, downloadThroughput: 60_000, uploadThroughput: 60_000 }
    await page.send('Network.emulateNetworkConditions', slow)
    for (const path of ['traces', `traces/${id}`, 'overview']) {
      await page.open(`${url}/app/p/default/${path}`)
      const paint = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime"
      budget(t, `${path.replace(id, 'ID')} at 60 kB/s: first paint`, Number(await page.until(paint)), 1000, ' ms')
    }
    t.same(page.errors, [])
  })

  t.test('opening a hundred traces in turn does not grow the heap', async t => {
    const page = await visit(t, service)
    const ids: string[] = []
    for (let i = 0; i < 100; i++) ids.push((await recordAgent(service, { name: `one of many ${i}` })).id)
    await page.open(`${url}/app/p/default/traces?name=none&range=all`)
    const heaps: number[] = []
    for (const [i, id] of ids.entries()) {
      await page.evaluate(`(() => {
        const link = document.createElement('a')
        link.href = '${url}/app/p/default/traces/${id}'
        document.querySelector('main').append(link)
        link.click()
        link.remove()
      })()`)
      await page.until(`location.pathname.endsWith('${id}') && document.querySelectorAll('.row').length === 4`)
      if (i % 10 === 9) heaps.push(await heapBytes(page))
    }
    budget(t, 'heap after 100 traces', heaps.at(-1)! / 1e6, 50, ' MB')
    budget(t, 'heap after 100 traces, above that after 50', (heaps.at(-1)! - heaps[4]!) / 1e6, 2, ' MB')
  })

  t.test('every page and dialog is accessible in each theme and width', async t => {
    const own = await testService(t)
    const traces = await recordAll(own)
    const page = await visit(t, own)
    let looked = 0
    const check = async (what: string, width: number) => {
      for (const theme of THEMES) {
        await page.colours(theme)
        t.same(await page.violations(), [], `${what} at ${width} px, ${theme}`)
        looked++
      }
    }
    for (const [address, shown] of pagesOf(traces)) {
      await page.open(`${own.url}/app/${address}`)
      await page.untilText(shown)
      for (const width of [...WIDTHS, 360]) {
        await page.width(width, 800)
        await check(address, width)
        const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
        t.ok((over as number) <= 0, `${address} does not scroll sideways at ${width} px`)
        t.ok((await countElements(page)) < MOST_ELEMENTS, address)
      }
    }
    for (const [address, selector, text] of dialogsOf(traces)) {
      for (const width of [...WIDTHS, 360]) {
        await page.width(width, 800)
        await page.open(`${own.url}/app/${address}`)
        await page.until("!!document.querySelector('main h1')")
        // On narrow screens, some of these elements are not visible.
        if (!(await page.evaluate(isShown(selector, text)))) continue
        await page.click(selector, text)
        await page.until(`!!document.querySelector('${OPENED}')`)
        await check(`${text} of ${address}`, width)
        t.equal(await page.evaluate(CUT_OFF), 0, `${text} of ${address} fits ${width} px`)
      }
    }
    figure('pages and dialogs checked by axe', looked)
  })

  t.test('fifty live tabs use at most 3 % of the CPU time available for recording', async t => {
    const tabs = await LiveTabs.start(t)
    const { perLook, alone, beside } = await tabs.measure(LIVE_TABS)
    figure('traces/s alone, and beside 50 live tabs', `${alone}, ${beside}`)
    figure('CPU of server and database per poll of a live tab', `${perLook.toFixed(2)} ms`)
    const looksPerSecond = LIVE_TABS / LOOK_S
    const share = (looksPerSecond * perLook) / (1000 * availableParallelism())
    budget(t, `50 live tabs, of the CPU of ${availableParallelism()} cores`, share * 100, 3, ' %')
  })
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!

/** Returns the CPU time of the page's main thread since the page was opened, in ms. */
async function taskMs({ send }: Visit): Promise<number> {
  const { metrics } = (await send('Performance.getMetrics')) as { metrics: { name: string; value: number }[] }
  return metrics.find(({ name }) => name === 'TaskDuration')!.value * 1000
}

interface Traced {
  readonly name: string
  readonly pid: number
  readonly tid: number
  readonly args?: { readonly name?: string }
  /** CPU time in µs. */
  readonly tdur?: number
}

/**
 * Makes the browser trace the tasks of its threads. The returned function stops the trace and returns the CPU time of
 * the page's longest task, in ms.
 */
async function traceTasks({ send, on }: Visit): Promise<() => Promise<number>> {
  const traced: Traced[] = []
  on('Tracing.dataCollected', ({ value }) => traced.push(...(value as Traced[])))
  await send('Tracing.start', { traceConfig: { includedCategories: ['toplevel'], excludedCategories: ['*'] } })
  return async () => {
    const complete = new Promise<void>(resolve => on('Tracing.tracingComplete', () => resolve()))
    await send('Tracing.end')
    await complete
    const main = (event: Traced) =>
      traced.some(
        ({ name, args, pid, tid }) =>
          name === 'thread_name' && args?.name === 'CrRendererMain' && pid === event.pid && tid === event.tid
      )
    const tasks = traced.filter(({ tdur }) => tdur !== undefined && tdur > 10_000).filter(main)
    return Math.max(0, ...tasks.map(({ tdur }) => tdur as number)) / 1000
  }
}

async function heapBytes({ send }: Visit): Promise<number> {
  await send('HeapProfiler.collectGarbage')
  const { usedSize } = await send('Runtime.getHeapUsage')
  return usedSize as number
}
