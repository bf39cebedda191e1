/**
 * Tests that the numbers over time in each chart equal those of the list to which the chart links. Also tests saved
 * views.
 */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent } from './traces.ts'
import { ownProject, visit } from './visit.ts'

const DAY = '?from=2026-11-25T00:00:00Z&to=2026-11-25T23:59:59Z'
const ROWS = "document.querySelectorAll('.traces a.open').length"
const PARAMETERS = 'Object.fromEntries(new URLSearchParams(location.search))'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await ownProject(await testService(t))
  const page = await visit(t, service)
  // Seven traces in three hours, with two models and two names. Two of the traces failed.
  for (const [i, hour] of [8, 8, 8, 9, 9, 11, 11].entries()) {
    await recordAgent(service, {
      name: i % 2 === 0 ? 'answer' : 'search',
      model: i < 4 ? 'm1' : 'm2',
      status: i === 0 || i === 5 ? 'error' : 'ok',
      startedAt: `2026-11-25T${String(hour).padStart(2, '0')}:1${i}:00Z`,
      endedAt: `2026-11-25T${String(hour).padStart(2, '0')}:1${i}:0${i + 1}Z`,
      spans: []
    })
  }
  /** Follows a link to a list, and goes back. Returns the list's number of rows. */
  const behind = async (find: string) => {
    await page.evaluate(`${find}.click()`)
    await page.until("document.querySelector('h1').textContent.startsWith('Traces')")
    await page.until(`${ROWS} > 0`)
    const rows = await page.evaluate(ROWS)
    await page.evaluate('history.back()')
    await page.until("document.querySelector('h1').textContent === 'Overview'")
    await page.until("document.querySelectorAll('.is-table tbody tr').length > 3")
    return rows
  }

  t.test("a chart's table has the numbers of the lists that it links to", async t => {
    await page.open(`${service.pages}/overview${DAY}`)
    await page.until("document.querySelectorAll('.is-table tbody tr').length === 4")
    await page.click('.figure button', 'as table: Traces')
    await page.until("!!document.querySelector('.numbers thead')")
    t.match(await page.evaluate(PARAMETERS), { table: 'traces' }, 'it is in the address')
    const table = `[...document.querySelectorAll('.numbers:not(.is-whole) tbody tr')]`
    const read = `${table}.map(row => [...row.children].map(cell => cell.textContent)).filter(row => row[1] + row[2] !== '00')`
    t.same(await page.evaluate(read), [
      ['Wed 25 Nov, 08:00 – 09:00', '2', '1'],
      ['Wed 25 Nov, 09:00 – 10:00', '2', '0'],
      ['Wed 25 Nov, 11:00 – 12:00', '1', '1']
    ])
    const link = (text: string) => `[...document.querySelectorAll('main a')].find(a => a.textContent === '${text}')`
    t.equal(await behind(link('Wed 25 Nov, 08:00 – 09:00')), 3)
    t.equal(await behind(link('m1')), 4)
    t.equal(await behind(link('answer')), 4)
    t.equal(await behind(link('Error rate')), 2)
    t.equal(await behind(link('Traces').replace('main a', 'h2 a')), 7)
  })

  t.test('arrow keys move along a chart, and select a time', async t => {
    await page.open(`${service.pages}/overview${DAY}`)
    const cost = "[...document.querySelectorAll('.plot-link')].find(a => a.textContent.startsWith('Cost'))"
    await page.until(`!!${cost}`)
    await page.evaluate(`${cost}.focus()`)
    await page.press('Home')
    for (let i = 0; i < 9; i++) await page.press('ArrowRight')
    await page.untilText('09:00 – 10:00: cost $0.02', '[role=status]')
    t.match(await page.evaluate(`${cost}.href`), /of=cost&at=2026-11-25T09%3A00%3A00.000Z/)
    await page.press('ArrowRight', { shift: true })
    await page.press('Enter')
    await page.until("new URLSearchParams(location.search).get('from') === '2026-11-25T09:00:00.000Z'")
    t.equal(await page.evaluate("document.querySelector('h1').textContent"), 'Overview')
    t.match(await page.evaluate(PARAMETERS), { to: '2026-11-25T10:59:59.999999Z' })
    await page.until("document.querySelector('.total b')?.textContent === '2'")
  })

  t.test('a bar shows what changed there, and links to the traces', async t => {
    await page.open(`${service.pages}/overview${DAY}`)
    const cost = "[...document.querySelectorAll('.plot-link')].find(a => a.textContent.startsWith('Traces'))"
    await page.until(`!!${cost}`)
    await page.evaluate(`${cost}.focus()`)
    await page.press('Home')
    for (let i = 0; i < 9; i++) await page.press('ArrowRight')
    await page.press('Enter')
    await page.untilText('Traces: Wed 25 Nov, 09:00 – 10:00', 'dialog h2')
    await page.untilText('compared with the hour before', 'dialog p')
    await page.untilText('−33', 'dialog .change')
    t.match(await page.evaluate(PARAMETERS), { of: 'traces', at: '2026-11-25T09:00:00.000Z' }, 'it is in the address')
    t.same(
      await page.evaluate(
        "[...document.querySelectorAll('dialog tbody tr')].map(row => row.innerText.split('\\t').slice(0, 3))"
      ),
      [
        ['m1', '3', '1'],
        ['m2', '0', '1']
      ],
      'the models explain more than the names'
    )
    await page.click('dialog button', 'name')
    await page.untilText('Largest changes by name', 'dialog th')
    await page.click('dialog a', 'Show traces')
    await page.until("document.querySelector('h1').textContent.startsWith('Traces')")
    await page.until(`${ROWS} === 2`)
    await page.evaluate('history.back()')
    await page.untilText('Traces: Wed 25 Nov', 'dialog h2')
    await page.press('Escape')
    await page.until("!document.querySelector('dialog[open]')")
    t.notOk(((await page.evaluate(PARAMETERS)) as { at?: string }).at)
  })

  t.test('charts and tables are split by a field, and two groups are compared', async t => {
    await page.open(`${service.pages}/overview${DAY}`)
    await page.untilText('By name', 'h2')
    const choose = (label: string, value: string) =>
      page.evaluate(`(() => {
        const field = [...document.querySelectorAll('label')].find(each => each.innerText.startsWith('${label}'))
        const select = field.querySelector('select')
        select.value = '${value}'
        select.dispatchEvent(new Event('change', { bubbles: true }))
      })()`)
    await choose('Split by', 'name')
    await page.until("[...document.querySelectorAll('.legend')].some(each => each.innerText.includes('answer'))")
    t.match(await page.evaluate(PARAMETERS), { by: 'name' })
    t.notOk(await page.evaluate("[...document.querySelectorAll('h2')].some(each => each.textContent === 'By model')"))
    await page.click('td a', 'Compare search')
    await page.untilText('Compare groups', 'h1')
    await page.untilText('Examples', 'h2')
    t.match(await page.evaluate(PARAMETERS), { a: 'name:answer', b: 'name:search' })
    const rows = "[...document.querySelectorAll('.metrics tbody tr')].map(row => row.innerText.split('\\t'))"
    const metrics = (await page.evaluate(rows)) as string[][]
    t.match(metrics.slice(0, 3), [
      ['Traces', '4', '3', /^−25/],
      [/Error rate/, /25/, /33/, /points/],
      ['p50 duration', '3.00 s', '4.00 s', /^\+33/]
    ])
    for (const [title, ...cells] of metrics) {
      t.ok(cells.length === 3 && cells.every(cell => cell !== ''), `${title} of both groups, and the difference`)
    }
    await choose('B', '')
    await page.untilText('Choose a field and two of its values')
    await choose('B', 'search')
    await page.untilText('Examples', 'h2')
  })

  t.test('errors are grouped, and each group links to its traces', async t => {
    await page.open(`${service.pages}/errors${DAY}`)
    await page.untilText('2 failures in 2 groups, 2 new', '[role=status]')
    const focused = "document.activeElement.closest('tr')?.rowIndex"
    for (const [key, row] of [
      ['j', 1],
      ['j', 2],
      ['j', 2],
      ['k', 1]
    ] as const) {
      await page.press(key)
      t.equal(await page.evaluate(focused), row, key)
    }
    await page.click('a.open', 'search')
    await page.until("document.querySelector('h1').textContent.startsWith('Traces')")
    await page.until(`${ROWS} === 1`)
    t.match(await page.evaluate(PARAMETERS), { name: 'search', status: 'error' })
    await page.evaluate('history.back()')
    await page.click('td a', 'Open the latest trace with answer')
    await page.untilText('answer', 'h1')
  })

  t.test('the list has a chart of its traces over time, and filters show their numbers of traces', async t => {
    await page.open(`${service.pages}/traces${DAY}`)
    await page.until(`${ROWS} === 7`)
    const top = "document.querySelector('.traces').getBoundingClientRect().top"
    const before = await page.evaluate(top)
    await page.untilText('7 completed traces, 2 errors', '.spark')
    t.equal(await page.evaluate(top), before, 'nothing has moved')
    const { x, y, width } = (await page.evaluate(
      "document.querySelector('.plot-link').getBoundingClientRect().toJSON()"
    )) as { x: number; y: number; width: number }
    const mouse = (type: string, hour: number) =>
      page.send('Input.dispatchMouseEvent', {
        type,
        x: x + ((hour + 0.5) / 24) * width,
        y: y + 20,
        button: 'left',
        buttons: type === 'mouseReleased' ? 0 : 1,
        clickCount: 1
      })
    await mouse('mousePressed', 9)
    await mouse('mouseMoved', 10)
    await mouse('mouseMoved', 11)
    await mouse('mouseReleased', 11)
    await page.until(`${ROWS} === 4`)
    t.match(await page.evaluate(PARAMETERS), { from: '2026-11-25T09:00:00.000Z', to: '2026-11-25T11:59:59.999999Z' })
    await page.evaluate('history.back()')
    await page.until(`${ROWS} === 7`)
    await page.untilText('7 completed traces', '.spark')
    await mouse('mousePressed', 8)
    await mouse('mouseReleased', 8)
    await page.until(`${ROWS} === 3`)
    await page.open(`${service.pages}/traces${DAY}&sort=slowest`)
    await page.until(`${ROWS} === 7`)
    await page.untilText('7 completed traces', '.spark')
  })

  t.test('a step leads to its slowest runs in the same environment', async t => {
    const own = await ownProject(service)
    await recordAgent(own)
    await page.open(`${own.pages}/overview${DAY}&by=step&env=unassigned`)
    const link = "[...document.querySelectorAll('.is-table td a')].find(a => a.textContent.startsWith('Slowest'))"
    await page.until(`!!${link}`)
    const asked = await page.evaluate(`Object.fromEntries(new URL(${link}.href).searchParams)`)
    t.match(asked, { env: 'unassigned', sort: 'slowest' })
  })

  t.test('a view is saved, chosen, shared, renamed and deleted', async t => {
    await page.open(`${service.pages}/traces?status=error&range=30d`)
    await page.click('.menu button:not(:disabled)', 'Views')
    await page.click('[role=menuitem]', 'Save this view')
    await page.until("document.querySelector('dialog[open] input') === document.activeElement")
    await page.type('Failures')
    await page.press('Enter')
    await page.untilText('“Failures” is saved')
    await page.open(`${service.pages}/overview`)
    await page.click('.menu button', 'Views')
    await page.click('[role=menuitem]', 'Failures')
    await page.until("document.querySelector('h1').textContent.startsWith('Traces')")
    t.match(await page.evaluate(PARAMETERS), { status: 'error', range: '30d', cols: /^name,/ }, 'times stay relative')
    await page.click('.menu button:not(:disabled)', 'Views')
    await page.click('[role=menuitem]', 'Rename, share')
    await page.untilText('status: error · last 30 days', 'td')
    await page.click('td button', 'Share')
    await page.untilText('shared', 'td')
    await page.click('td button', 'Rename')
    await page.until("document.querySelector('dialog[open] input') === document.activeElement")
    await page.evaluate('document.activeElement.select()')
    await page.type('Red')
    await page.press('Enter')
    await page.untilText('Red', 'td a')
    await page.click('td button', 'Delete')
    await page.click('dialog button', 'Delete')
    await page.untilText('No saved views yet.')
  })

  t.test('no error, and no policy violation', async t => {
    t.same(page.errors, [])
  })
})
