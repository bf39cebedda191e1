/** Every page: no error, nothing from elsewhere, no violation of accessibility in both themes, 360 px wide. */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent, recordDeep, recordHostile, recordRunning } from './traces.ts'
import { elsewhere, visit } from './visit.ts'

t.test('every page is accessible, narrow, and of this server alone', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const agent = await recordAgent(service)
  const hostile = await recordHostile(service)
  const deep = await recordDeep(service)
  await recordRunning(service)
  for (const score of [
    { name: 'helpful', dataType: 'numeric', value: 0.5, comment: 'Fine.' },
    { name: 'verdict', dataType: 'categorical', value: 'correct', spanId: agent.spans[1] }
  ]) {
    await service.call('POST', `/api/v1/traces/${agent.id}/scores`, { body: score })
  }
  const page = await visit(t, service)
  const trace = `p/default/traces/${agent.id}`
  const pages: [address: string, shown: string][] = [
    ['p/default/traces', 'support-agent'],
    ['p/default/traces?status=error', '[U+202E]evil'],
    ['p/default/traces?name=none', 'No trace is like this'],
    [trace, 'Where is my order?'],
    [`${trace}?span=${agent.spans[3]}`, 'as in chat one'],
    [`${trace}?span=${agent.spans[1]}&tab=json`, 'lookup_order'],
    [`${trace}?span=${agent.spans[1]}&tab=attributes`, '1e+21'],
    [`${trace}?span=${agent.spans[2]}&tab=events`, 'attempt'],
    [`${trace}?span=trace&tab=scores`, 'helpful'],
    [`${trace}?view=log`, 'in transit'],
    [`${trace}?q=transit`, 'matches in'],
    [`p/default/traces/${hostile.id}`, 'U+202E'],
    [`p/default/traces/${deep.id}`, 'level 5'],
    ['p/default/settings/keys', 'Create a key'],
    ['p/default/settings/members', '@example.com'],
    ['p/default/settings/project', 'Storage'],
    ['account', 'Where you are signed in'],
    ['nothing', 'There is no such page'],
    ['p/default/traces/0123456789abcdef0123456789abcdef', 'no such']
  ]
  for (const [address, shown] of pages) {
    for (const theme of ['light', 'dark'] as const) {
      await page.colours(theme)
      await page.open(`${service.url}/app/${address}`)
      await page.untilText(shown)
      t.same(await page.violations(), [], `${address} in ${theme} colours`)
    }
    await page.width(360, 740)
    const over = await page.evaluate('document.documentElement.scrollWidth - document.documentElement.clientWidth')
    t.equal(over, 0, `${address} does not scroll sideways at 360 px`)
    t.same(await page.violations(), [], `${address} at 360 px`)
    await page.width(1280)
    const elements = (await page.evaluate('document.querySelectorAll("*").length')) as number
    t.ok(elements < 3000, `${address} has ${elements} elements`)
  }
  t.same(
    page.errors.filter(error => !/status of 404/.test(error)),
    [],
    'no error, and no violation of the policy'
  )
  t.same(elsewhere(page, service.url), [])
})

t.test('dialogs and menus are accessible', async t => {
  if (!(await hasChromium())) return
  const service = await testService(t)
  const { id } = await recordAgent(service)
  const page = await visit(t, service)
  const openings: [address: string, selector: string, text: string][] = [
    ['p/default/traces', 'button', 'Columns'],
    ['p/default/traces', '.menu button', 'Sort'],
    ['p/default/traces', '.time button', 'All time'],
    ['p/default/traces', 'button', 'Jump'],
    [`p/default/traces/${id}`, 'button', 'Annotate'],
    [`p/default/traces/${id}`, '.menu button', 'Copy'],
    ['p/default/settings/keys', 'button', 'Create a key'],
    ['p/default/settings/keys', 'button', 'Revoke'],
    ['p/default/settings/members', 'button', 'Invite'],
    ['account', '.mine button', '']
  ]
  for (const [address, selector, text] of openings) {
    for (const theme of ['light', 'dark'] as const) {
      await page.colours(theme)
      await page.open(`${service.url}/app/${address}`)
      await page.click(selector, text)
      await page.until("!!document.querySelector('dialog[open], [role=menu]')")
      t.same(await page.violations(), [], `${text} of ${address} in ${theme} colours`)
      await page.press('Escape')
      await page.until("!document.querySelector('dialog[open], [role=menu]')")
    }
  }
  t.same(page.errors, [])
})
