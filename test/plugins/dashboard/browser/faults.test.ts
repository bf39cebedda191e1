/** Tests faults in a browser: hostile traces, an unreachable server, an expired session, and a proxy with a path. */
import t from 'tap'
import { linkFor } from '../../../fixtures/service/people.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { putInBetween } from './in-between.ts'
import { recordAgent, recordDeep, recordHostile, recordLarge } from './traces.ts'
import { elsewhere, visit } from './visit.ts'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  // Everything must also work under a path, as behind many proxies.
  const between = await putInBetween(t, '/tools/spoor')
  const service = await testService(t, { config: { baseUrl: between.address } })
  between.leadTo(service.url)
  const page = await visit(t, service, 'owner', between.address)
  const pages = `${between.address}/app/p/default`

  t.test('a hostile trace runs no code, links nowhere and fetches nothing', async t => {
    const { id, spans } = await recordHostile(service)
    await page.open(`${pages}/traces?range=all`)
    await page.untilText('[U+202E]evil', '.traces')
    const bad = `[...document.querySelectorAll('a, img, audio, script, iframe, object, svg, form')].filter(each =>
      (each.tagName === 'A' && !/^(https?|mailto):/.test(each.href)) ||
      (each.tagName === 'IMG' && !/^data:image\\/(png|jpeg|gif|webp);/.test(each.src)) ||
      ['IFRAME', 'OBJECT'].includes(each.tagName) || (each.tagName === 'SCRIPT' && !each.src.startsWith(location.origin))
    ).map(each => each.outerHTML)`
    for (const search of [
      '',
      '?tab=json',
      '?tab=attributes',
      '?view=log',
      '?span=trace&tab=attributes',
      `?span=${spans[1]}`
    ]) {
      await page.open(`${pages}/traces/${id}${search}`)
      await page.until(
        "document.querySelectorAll('.row').length >= 2 && document.getElementById('tab-panel')?.innerText.trim().length > 0 && !document.querySelector('.waiting')"
      )
      t.same(await page.evaluate(bad), [], search)
      t.notMatch(await page.evaluate('document.title'), /^(?:broken|1)$/, search)
    }
    await page.open(`${pages}/traces/${id}`)
    await page.untilText('U+202E', '.hidden-character')
    // The output is drawn when it comes near the viewport, and so is the first message.
    await page.until(
      "(() => { document.getElementById('tab-panel').scrollTop = 1e6; return [...document.querySelectorAll('.chip')].some(each => each.textContent.includes('image/svg+xml')) })()"
    )
    await page.evaluate("document.getElementById('tab-panel').scrollTop = 0")
    await page.untilText('<script>document.title="broken"</script>', '.message')
    // Links with hostile values lead to the pages for exactly these values.
    await page.click('.trace-facts a', 'a/b?c#d&e=f')
    await page.until("decodeURIComponent(location.pathname).endsWith('/sessions/a/b?c#d&e=f')")
    await page.untilText('[U+202E]evil', 'main')
    t.same(page.errors, [])
    t.same(elsewhere(page, between.address), [])
  })

  t.test('two hundred spans and 750 KiB are shown in portions', async t => {
    page.errors.length = 0
    const [deep, large] = [await recordDeep(service), await recordLarge(service)]
    await page.open(`${pages}/traces/${deep.id}`)
    await page.untilText('level 3', '.row')
    await page.untilText('126 were not stored (123 custom, 3 llm)', '.pane-bar')
    t.ok(
      ((await page.evaluate("document.querySelectorAll('.row').length")) as number) < 60,
      'only the rows in view exist'
    )
    await page.evaluate("document.getElementById('spans').focus()")
    await page.press('End')
    await page.until(`location.search.includes('${deep.spans[199]}')`)
    await page.untilText('level 199', '.row.is-selected')
    await page.press('[')
    await page.until("document.querySelectorAll('.row').length === 1")
    await page.press(']')
    await page.until("document.querySelectorAll('.row').length > 10")

    await page.open(`${pages}/traces/${large.id}?span=${large.spans[1]}`)
    await page.untilText('0: A paragraph', '.message')
    const count = "document.querySelectorAll('.message').length"
    t.ok(((await page.evaluate(count)) as number) <= 41, 'only some messages at first')
    const reached = "document.querySelectorAll('.messages > .offscreen').length"
    await page.until(
      `(() => { const panel = document.getElementById('tab-panel'); panel.scrollTop = panel.scrollHeight; return ${reached} > 60 })()`
    )
    t.ok(((await page.evaluate(count)) as number) < 40, 'messages that were scrolled past are no longer in the page')
    await page.click('[role=tab]', 'JSON')
    await page.until("document.querySelectorAll('.json-item').length > 1")
    t.ok(((await page.evaluate("document.querySelectorAll('*').length")) as number) < 3000)
    t.same(page.errors, [])
  })

  t.test('everything is found under a path behind a proxy', async t => {
    page.errors.length = 0
    const { id } = await recordAgent(service, { name: 'behind a proxy' })
    await page.open(`${pages}/traces?range=all`)
    await page.click('.traces a.open', 'behind a proxy')
    await page.untilText('agent run', '.row')
    t.equal(await page.evaluate('location.pathname'), `/tools/spoor/app/p/default/traces/${id}`)
    await page.press('f')
    await page.type('transit')
    await page.untilText('matches in', '.said')
    await page.open(`${between.address}/app/t/${id}`)
    await page.untilText('agent run', '.row')
    await page.click('nav a', 'Settings')
    await page.untilText('Create a key')
    t.same(page.errors, [])
    t.same(elsewhere(page, between.address), [])
  })

  t.test('an invisible project is reported as missing, without requesting its traces', async t => {
    page.errors.length = 0
    await page.open(`${between.address}/app/p/nope/traces?range=all`)
    await page.untilText('No project nope', 'h1')
    await page.click('main a', 'Your projects')
    await page.until("location.pathname.endsWith('/p/default/traces')")
    t.same(page.errors, [])
  })

  t.test('an unreachable server is reported, the page stays, and it continues by itself', async t => {
    const { id } = await recordAgent(service, { name: 'while away' })
    await page.open(`${pages}/traces?range=all`)
    await page.untilText('while away', '.traces')
    between.setAway(true)
    await page.click('.traces a.open', 'while away')
    await page.untilText('The server is not responding', '.connection')
    between.setAway(false)
    await page.untilText('agent run', '.row')
    await page.until("document.querySelector('.connection').textContent === ''")
    t.match(await page.evaluate('location.pathname'), id)
    await page.until("performance.getEntriesByType('resource').some(({ name }) => name.includes('/annotate.'))")
    await page.press('a')
    await page.until("document.querySelector('dialog[open] form input') === document.activeElement")
    between.setAway(true)
    await page.type('helpful')
    await page.evaluate("document.querySelector('dialog input[inputmode]').focus()")
    await page.type('1')
    await page.press('Enter')
    await page.untilText('The server is not responding', 'dialog [role=alert]')
    between.setAway(false)
    await page.click('dialog button', 'Add score')
    await page.until("!document.querySelector('dialog[open]')")
    const { scores } = (await service.call('GET', `/api/v1/traces/${id}`)).body
    t.equal(scores.length, 1, 'the typed text was still there')

    await page.open(`${pages}/settings/keys`)
    await page.click('button', 'Create a key')
    await page.until("!!document.querySelector('dialog[open]')")
    between.setAway(true)
    await page.click('dialog button[type=submit]', 'Create')
    await page.untilText('The key may have been created anyway', 'dialog [role=alert]')
    between.setAway(false)
    await page.press('Escape')
    await page.until("!document.querySelector('dialog[open]')")
  })

  t.test('when a session ends, the page asks for a sign-in and repeats the request', async t => {
    await recordAgent(service, { name: 'signed out' })
    await page.open(`${pages}/traces?range=all`)
    await page.untilText('signed out', '.traces')
    const { email } = (await page.evaluate(
      "fetch('api/session').then(answer => answer.json()).then(({ user }) => user)"
    )) as { email: string }
    await page.evaluate(
      "fetch('api/session', { method: 'DELETE', headers: { 'content-type': 'application/json' } }).then(() => 0)"
    )
    await page.click('.traces a.open', 'signed out')
    await page.untilText('You are signed out', 'dialog[open]')
    await page.evaluate("document.querySelector('dialog input').focus()")
    await page.type(`${between.address}/app/sign-in#${await linkFor(service, email)}`)
    await page.press('Enter')
    await page.untilText('agent run', '.row')
    t.equal(await page.evaluate("document.querySelector('dialog')"), null)
  })
})
