/**
 * Opens every page and every dialog, and checks that there are no errors, no requests to other sites and no
 * accessibility violations, and that everything fits a narrow screen. Each page has its turn of the themes and widths;
 * `npm run torture -- --only dashboard` checks every page and dialog in each theme and at each width.
 */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { CUT_OFF, dialogsOf, isShown, OPENED, pagesOf, recordAll, THEMES, WIDTHS } from './places.ts'
import { elsewhere, visit } from './visit.ts'

/** Maximum number of elements of a page. More elements would make the page slow. */
const MOST_ELEMENTS = 3000

t.test('every page is accessible, fits a narrow screen, and loads only from this server', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const traces = await recordAll(service)
  const page = await visit(t, service)
  for (const [i, [address, shown]] of pagesOf(traces).entries()) {
    await page.open(`${service.url}/app/${address}`)
    await page.untilText(shown)
    const [theme, width] = [THEMES[i % 2]!, WIDTHS[(i >> 1) % 4]!]
    await page.colours(theme)
    await page.width(width)
    t.same(await page.violations(), [], `${address} at ${width} px, ${theme}`)
    const elements = (await page.evaluate('document.querySelectorAll("*").length')) as number
    t.ok(elements < MOST_ELEMENTS, `${address} has ${elements} elements`)
    await page.width(360, 740)
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(over, 0, `${address} does not scroll sideways at 360 px`)
    await page.width(1280)
  }
  await page.colours('light')
  let before = ''
  for (const [address, selector, text] of dialogsOf(traces)) {
    if (address !== before) await page.open(`${service.url}/app/${address}`)
    before = address
    await page.until("!!document.querySelector('main h1')")
    await page.click(selector, text)
    await page.until(`!!document.querySelector('${OPENED}')`)
    t.same(await page.violations({ within: OPENED }), [], `${text} of ${address}`)
    await page.press('Escape')
    await page.until(`!document.querySelector('${OPENED}')`)
    await page.width(390)
    if (await page.evaluate(isShown(selector, text))) {
      await page.click(selector, text)
      await page.until(`!!document.querySelector('${OPENED}')`)
      t.equal(await page.evaluate(CUT_OFF), 0, `${text} of ${address} fits 390 px`)
      await page.press('Escape')
      await page.until(`!document.querySelector('${OPENED}')`)
    }
    await page.width(1280)
  }
  t.same(
    page.errors.filter(error => !/status of 404/.test(error)),
    [],
    'no error, and no policy violation'
  )
  t.same(elsewhere(page, service.url), [])
})
