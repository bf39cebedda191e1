/** Tests the trace list in a browser: its filter box, its rows, and what is done with all matches. */
import t from 'tap'
import { fillBack } from '../../../../lib/store/search/indexing.ts'
import { searchOn } from '../../../fixtures/service/searching.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent, recordAgentAgain } from './traces.ts'
import { type OwnProject, ownProject, visit } from './visit.ts'

const NAMES = "[...document.querySelectorAll('.traces a.open')].map(each => each.textContent).join()"
const CHIPS = "[...document.querySelectorAll('.filter-chip')].map(each => each.textContent).join()"
const PARAMETERS = 'Object.fromEntries(new URLSearchParams(location.search))'
const SAVED = 'Promise.all(globalThis.saved.map(blob => blob.text()))'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const server = await testService(t)
  const page = await visit(t, server)
  const begin = async () => {
    page.errors.length = 0
    const service = await ownProject(server)
    const steps = [
      { name: 'search', kind: 'llm', model: 'm1', usage: { inputTokens: 1000, outputTokens: 234 }, costUsd: 0.5 }
    ].map(step => ({
      id: '0123456789abcdef',
      startedAt: '2026-11-25T10:00:00Z',
      endedAt: '2026-11-25T10:00:01Z',
      ...step
    }))
    await recordAgent(service)
    await recordAgentAgain(service, { name: 'refunds', tags: ['billing', 'vip'] })
    await recordAgent(service, {
      name: 'summed',
      model: undefined,
      usage: undefined,
      costUsd: undefined,
      tags: ['vip'],
      metadata: { spoor: { spansLeftOut: { count: 61 } } },
      spans: steps
    })
    return service
  }
  const filter = () => page.evaluate("document.getElementById('filter').focus()")

  t.test('a filter is suggested with its number of traces, chosen by keyboard, edited and removed', async t => {
    const { pages } = await begin()
    await page.open(`${pages}/traces?range=all&sort=slowest`)
    await page.until(`${NAMES} === 'support-agent,summed,refunds' || ${NAMES} === 'summed,support-agent,refunds'`)
    await filter()
    await page.untilText('step:', '[role=option]')
    t.same(await page.violations(), [])
    await page.type('tag:vi')
    await page.untilText('vip2', '[role=option]')
    await page.press('ArrowDown')
    await page.press('Enter')
    await page.until(`${NAMES} === 'summed,refunds'`)
    t.same(await page.evaluate(PARAMETERS), { range: 'all', sort: 'slowest', tag: 'vip' }, 'the order is kept')
    await page.until("document.activeElement.id === 'filter'")
    await page.type('status:err')
    await page.untilText('error1', '[role=option]')
    await page.press('ArrowDown')
    await page.press('Enter')
    await page.until(`${NAMES} === 'refunds'`)
    t.equal(await page.evaluate(CHIPS), 'Status error,Tag vip')
    await page.evaluate('history.back()')
    await page.until(`${NAMES} === 'summed,refunds'`)
    await filter()
    await page.press('Backspace')
    await page.until("document.getElementById('filter').value === 'tag:vip'")
    await page.press('Enter')
    await page.until(`${CHIPS} === 'Tag vip'`)
    await page.click('button', 'Remove the filter Tag vip')
    await page.until(`${CHIPS} === ''`)
    t.same(page.errors, [])
  })

  t.test('a typed query becomes filters, and unreadable parts stay with the reason', async t => {
    const { pages } = await begin()
    await page.open(`${pages}/traces?range=all`)
    await page.until(`${NAMES} !== ''`)
    await filter()
    await page.type('step:refund tag:billing cost:>0.01 duration:<1h colour:red')
    await page.press('Enter')
    await page.untilText('There is no field “colour”', '[role=alert]')
    await page.until(`${NAMES} === 'refunds'`)
    t.equal(await page.evaluate("document.getElementById('filter').value"), 'colour:red')
    t.same(await page.evaluate(PARAMETERS), {
      step: 'refund',
      minCost: '0.01',
      maxDuration: '3600000',
      range: 'all',
      tag: 'billing'
    })
    await page.open(`${pages}/traces?tag=biling&range=all`)
    await page.untilText('No traces match these filters')
    await page.untilText('No trace has the tag "biling". The nearest: "billing"')
    await page.open(`${pages}/traces?from=2020-01-01T00:00:00Z&to=2020-01-02T00:00:00Z`)
    await page.untilText('No traces in this time range')
    await page.click('button', 'Show all time')
    await page.until("location.search === '?range=all'")
    await page.until(`${NAMES} !== ''`)
    t.same(page.errors, [])
  })

  t.test("a row shows its first error, its first words and its steps' sums", async t => {
    const { pages } = await begin()
    await page.open(`${pages}/traces?range=all`)
    await page.untilText('refund failed', '.excerpt .is-error')
    await page.untilText('It comes on Monday.', '.excerpt')
    const link = "[...document.querySelectorAll('a.open')].find(each => each.textContent === 'summed')"
    const row = `${link}.closest('tr').textContent`
    t.match(await page.evaluate(row), /m1≈ 1,234≈ \$0\.501 of 62/)
    await page.click('button', 'Columns')
    await page.click('dialog label', 'First error')
    await page.click('dialog button', 'Done')
    await page.until("!document.querySelector('.excerpt')")
    await page.click('button', 'Columns')
    await page.click('dialog button', 'Reset')
    await page.click('dialog button', 'Done')
    await page.until("!!document.querySelector('.excerpt')")
    t.same(page.errors, [])
  })

  t.test('the list says which traces its order leaves out, and leads to them', async t => {
    const { pages } = await begin()
    await page.open(`${pages}/traces?range=all&sort=costliest`)
    await page.untilText('Most expensive first. 1 trace without a cost of its own is not listed.', '.far')
    t.same(await page.violations(), [])
    await page.click('.far a', 'Show them')
    await page.until(`${NAMES} === 'summed'`)
    t.same(await page.evaluate(PARAMETERS), { range: 'all', noCost: 'true' })
    await page.open(`${pages}/traces?range=all&sort=slowest`)
    await page.until(`${NAMES} !== ''`)
    await page.until("document.querySelector('.far').textContent === 'Slowest first. '")
    t.same(page.errors, [])
  })

  t.test('a search is repeated until the index is complete', async t => {
    const { slug, pages } = await begin()
    const { pool } = server.database
    const [project] = await pool.run(sql => sql<{ id: number }[]>`select id from projects where slug = ${slug}`)
    const id = Number(project!.id)
    await searchOn(server, id)
    await page.open(`${pages}/traces?range=all&q=comes`)
    await page.untilText('Earlier traces are still being indexed. This list updates automatically.', '.far')
    t.equal(await page.evaluate(NAMES), '')
    const rest = async () => {}
    for (let i = 0; i < 2; i++) await pool.run(sql => fillBack(sql, id, rest, { settleMs: 0 }))
    await page.until(`${NAMES}.split(',').length === 3 && !document.querySelector('.far')`)
    t.same(page.errors, [])
  })

  t.test('a row and its preview are one', async t => {
    const { pages } = await begin()
    for (const width of [390, 1280]) {
      await page.width(width)
      await page.open(`${pages}/traces?range=all`)
      await page.until("!!document.querySelector('.excerpt')")
      const place = (selector: string) =>
        page.evaluate(`(({ x, y, width, height }) => [x + width - 4, y + height / 2])(
          document.querySelector('${selector}').getBoundingClientRect())`) as Promise<[number, number]>
      const colours = `[...document.querySelectorAll('.traces tbody tr')].slice(0, 2)
        .map(row => getComputedStyle(row).backgroundColor)`
      const plain = await page.evaluate(colours)
      for (const selector of ['.traces tbody tr', '.traces tbody .excerpt']) {
        const [x, y] = await place(selector)
        await page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x, y })
        const [row, preview] = (await page.evaluate(colours)) as [string, string]
        t.equal(row, preview, `${selector} at ${width}`)
        t.not(row, (plain as string[])[0])
      }
      await page.send('Input.dispatchMouseEvent', { type: 'mouseMoved', x: 1, y: 1 })
      await page.press('j')
      const [focused, preview] = (await page.evaluate(colours)) as [string, string]
      t.equal(focused, preview)
      t.not(focused, (plain as string[])[0])
    }
    t.same(page.errors, [])
  })

  t.test('suggested values line up with their counts, and long values end in an ellipsis', async t => {
    const { pages, call } = await begin()
    const name = `${'long '.repeat(30)}name`
    await recordAgent({ call } as OwnProject, { name })
    for (const width of [390, 1280]) {
      await page.width(width)
      await page.open(`${pages}/traces?range=all`)
      await page.until(`${NAMES} !== ''`)
      await filter()
      await page.until("document.querySelectorAll('.entry .note').length > 8")
      const starts = "[...new Set([...document.querySelectorAll('.entry .note')].map(each => each.offsetLeft))].length"
      t.equal(await page.evaluate(starts), 1, `meanings begin in one column at ${width}`)
      await page.type('name:')
      await page.untilText('long long', '[role=option]')
      const ends = `[...new Set([...document.querySelectorAll('.entry > :last-child')]
        .map(each => Math.round(each.getBoundingClientRect().right)))].length`
      t.equal(await page.evaluate(ends), 1, `counts end in one column at ${width}`)
      const long = `(({ clientWidth, scrollWidth, title, nextSibling }) =>
        [clientWidth < scrollWidth, title, nextSibling.textContent])(
          [...document.querySelectorAll('.entry .clip')].find(each => each.textContent.startsWith('long')))`
      t.same(await page.evaluate(long), [true, name, '1'])
    }
    t.same(page.errors, [])
  })

  t.test('the table is three key presses away', async () => {
    const { pages } = await begin()
    await page.open(`${pages}/traces?range=all`)
    await page.until(`${NAMES} !== ''`)
    await page.evaluate('document.activeElement.blur()')
    await page.press('Tab')
    await page.press('Tab')
    await page.until("document.activeElement.textContent === 'Skip to table'")
    await page.press('Enter')
    await page.until("document.activeElement.id === 'table'")
  })

  t.test('all matches are downloaded, and deleted once their number is typed', async t => {
    const { slug, pages, call } = await begin()
    await page.send('Page.addScriptToEvaluateOnNewDocument', {
      source: `globalThis.saved = []
        globalThis.names = []
        const click = HTMLAnchorElement.prototype.click
        HTMLAnchorElement.prototype.click = function () {
          if (this.download) globalThis.names.push(this.download)
          click.call(this)
        }
        const create = URL.createObjectURL
        URL.createObjectURL = blob => { globalThis.saved.push(blob); return create.call(URL, blob) }`
    })
    await page.open(`${pages}/traces?tag=vip&range=all`)
    await page.until(`${NAMES}.split(',').length === 2`)
    const menu = async (label: string) => {
      await page.click('.menu button', 'All matches')
      await page.click('[role=menuitem]', label)
    }
    await menu('as CSV')
    await page.untilText('2 traces downloaded', '.toasts')
    await menu('as NDJSON')
    await page.until('globalThis.saved.length === 2')
    const [csv, ndjson] = (await page.evaluate(SAVED)) as [string, string]
    const day = new Date().toISOString().slice(0, 10)
    const file = `spoor-${slug}-traces-tag-vip-${day}`
    t.same(await page.evaluate('globalThis.names'), [`${file}.csv`, `${file}.ndjson`])
    t.match(csv, /^id,name,status,[^\r]*\r\n[0-9a-f]{32},refunds,error,[^\r]*\r\n[0-9a-f]{32},summed,ok,[^\r]*\r\n$/)
    const names = ndjson
      .trim()
      .split('\n')
      .map(line => JSON.parse(line).trace.name)
    t.same(names, ['refunds', 'summed'])
    await menu('Delete all matches')
    await page.untilText('Delete 2 traces?', 'dialog')
    t.same(await page.violations({ within: 'dialog[open]' }), [])
    await page.type('3')
    await page.press('Enter')
    await page.untilText('Type 2 to delete', 'dialog [role=alert]')
    await page.evaluate("document.querySelector('dialog input').select()")
    await page.type('2')
    await page.press('Enter')
    await page.untilText('2 traces deleted', '.toasts')
    await page.untilText('No traces match these filters')
    t.match((await call('GET', '/api/v1/traces')).body.traces, [{ name: 'support-agent' }])
    t.same(page.errors, [])
  })
})
