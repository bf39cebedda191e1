/** Tests public links in a browser: an owner creates one, and a visitor without an account opens it. */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium, openPage } from '../../browser.ts'
import { THEMES, WIDTHS } from './places.ts'
import { recordAgent } from './traces.ts'
import { elsewhere, type Visit, visit, visitor } from './visit.ts'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t, { config: { publicLinks: true } })
  const { url } = service
  const agent = await recordAgent(service)
  const bare = await recordAgent(service, { metadata: {} })
  const headings = (page: Visit) =>
    page.evaluate("[...document.querySelectorAll('.shared > .half h3')].map(each => each.textContent)")

  t.test('an owner creates a link, anyone can see the trace with it, and nobody after it is revoked', async t => {
    const page = await visit(t, service)
    await page.open(`${url}/app/p/default/traces/${agent.id}`)
    await page.untilText('agent run', '.row')
    await page.click('.menu button', 'More')
    await page.click('[role=menuitem]', 'Public link')
    await page.click('dialog button', 'Create link')
    await page.until(`document.querySelector('dialog input[readonly]')?.value.includes('/app/shared#')`)
    const link = String(await page.evaluate(`document.querySelector('dialog input[readonly]').value`))

    const guest = visitor(await openPage(t))
    await guest.width(1280)
    await guest.open(link)
    await guest.untilText('support-agent', 'h1')
    await guest.untilText('u-3', '.shared-facts')
    t.same(await headings(guest), ['Input', 'Output', 'Metadata'])
    await guest.untilText('s/1 ä', '.shared-facts')
    await guest.click('.shared-spans summary', 'lookup_order')
    await guest.untilText('lookup_order', '.shared-spans')
    await guest.until(`document.querySelector('.shared-spans details[open] .half') !== null`)
    t.equal(
      await guest.evaluate(`document.querySelectorAll('nav a:not(.skip)').length`),
      0,
      "no link to the project's pages is shown"
    )
    t.notOk(
      guest.requests.some(address => address.includes(link.split('#')[1]!)),
      'the token is in no request address'
    )
    t.same(elsewhere(guest, url), [])
    for (const theme of THEMES) {
      await guest.colours(theme)
      for (const width of WIDTHS) {
        await guest.width(width)
        t.same(await guest.violations(), [], `${theme}, ${width}`)
      }
    }
    await page.untilText('Expires', 'dialog li')
    t.same(await page.violations(), [])
    await page.click('dialog li button', 'Revoke')
    await page.untilText('Link revoked')
    await guest.open('about:blank')
    await guest.open(link)
    await guest.untilText('has expired, or was revoked')

    const path = `/app/api/p/default/traces/${bare.id}/public-links`
    const request = `{ method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"days":1}' }`
    const token = await page.evaluate(`fetch('${path}', ${request}).then(each => each.json()).then(each => each.token)`)
    await guest.open('about:blank')
    await guest.open(`${url}/app/shared#${token}`)
    await guest.untilText('support-agent', 'h1')
    t.same(await headings(guest), ['Input', 'Output'], 'a trace without metadata')
    t.same(page.errors, [])
  })
})
