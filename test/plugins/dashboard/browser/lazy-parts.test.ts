/** Tests parts of the page that load on first use: a click is never lost, however slow the page or its files are. */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent } from './traces.ts'
import { visit } from './visit.ts'

/** Lets a page delay the effects of its components, as if it had too much to do to draw a frame. */
const SLOW_EFFECTS = `{
  const [frame, timer] = [requestAnimationFrame, setTimeout]
  requestAnimationFrame = call => (globalThis.isSlow ? timer(call, 1500) : frame(call))
  setTimeout = (call, ms, ...given) => timer(call, globalThis.isSlow ? 1500 : ms, ...given)
}`

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t, { config: { publicLinks: true } })
  const page = await visit(t, service)
  const pages = `${service.url}/app/p/default`
  const { id } = await recordAgent(service, { userId: 'ada' })
  await page.send('Network.setCacheDisabled', { cacheDisabled: true })
  const isOpen = "!!document.querySelector('dialog[open]')"

  t.test('a dialog opens if its code arrives for another part of the page in the meantime', async t => {
    const { identifier } = await page.send('Page.addScriptToEvaluateOnNewDocument', { source: SLOW_EFFECTS })
    await page.open(`${pages}/traces/${id}`)
    await page.untilText('It comes tomorrow.', '.message')
    const slow = { offline: false, latency: 600, downloadThroughput: -1, uploadThroughput: -1 }
    await page.send('Network.emulateNetworkConditions', slow)
    // The log requests the code. The dialog's button is clicked, and rendered, before the code has arrived.
    await page.evaluate(`new Promise(resolve => {
      [...document.querySelectorAll('.switch button')].find(each => each.textContent === 'Log').click()
      setTimeout(() => {
        isSlow = true
        document.querySelector('.trace-facts button').click()
        resolve()
      }, 200)
    })`)
    await page.until(isOpen)
    await page.send('Network.emulateNetworkConditions', { ...slow, latency: 0 })
    await page.send('Page.removeScriptToEvaluateOnNewDocument', { identifier })
    t.same(page.errors, [])
  })

  t.test('if the code of a dialog cannot be loaded, a message says so, and the next click tries again', async t => {
    const trace = `${pages}/traces/${id}`
    const menu =
      (name: string, item: string, kind = '') =>
      async () => {
        await page.click(`.menu${kind} > button`, name)
        await page.click('[role^=menuitem]', item)
      }
    const openings: [address: string, part: string, open: () => Promise<void>][] = [
      [trace, 'later', () => page.click('.trace-facts button', 'metadata value')],
      [trace, 'later', menu('More', 'Compare with')],
      [trace, 'public-links', menu('More', 'Public link')],
      [trace, 'annotate', () => page.press('a')],
      [`${pages}/traces?range=all`, 'columns-dialog', () => page.click('.head-end button', 'Columns')],
      [`${pages}/traces?range=all`, 'all-matches-dialog', menu('All matches', 'Delete all matches')],
      [`${pages}/traces?range=all`, 'time-dialog', menu('', 'Custom range', '.time')],
      [`${pages}/users/ada`, 'erase-dialog', () => page.click('button', 'Erase')],
      [`${pages}/traces?range=all`, 'help', () => page.press('?')],
      [`${pages}/traces?range=all`, 'command-box', () => page.press('/')]
    ]
    for (const [address, part, open] of openings) {
      await page.send('Network.setBlockedURLs', { urls: [`*/assets/${part}.*`] })
      await page.open(address)
      await page.until("document.querySelector('h1') && !document.querySelector('.waiting')")
      await open()
      await page.untilText('Part of the page could not be loaded.', '.toasts')
      t.equal(await page.evaluate(isOpen), false, part)
      await page.send('Network.setBlockedURLs', { urls: [] })
      await open()
      await page.until(isOpen)
    }
  })

  t.test('a page that could not be loaded does not keep other pages from opening', async () => {
    await page.open(`${pages}/traces/${id}`)
    await page.untilText('It comes tomorrow.', '.message')
    await page.send('Network.setBlockedURLs', { urls: ['*/assets/page.*', '*/assets/pages.*'] })
    await page.click('nav a', 'Overview')
    await page.untilText('Part of the page could not be loaded.', '.problem')
    await page.evaluate('history.back()')
    await page.untilText('It comes tomorrow.', '.message')
    await page.send('Network.setBlockedURLs', { urls: [] })
  })
})
