/**
 * Tests a session as a conversation that loads while the user scrolls, and the path from a score's bar to its traces.
 */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent } from './traces.ts'
import { visit } from './visit.ts'

const at = (minute: number) => new Date(Date.parse('2026-11-20T10:00:00Z') + minute * 60_000).toISOString()

t.test('a session is read from start to end, and scores link to traces', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const ids: string[] = []
  for (let i = 0; i < 60; i++) {
    // There is a pause of an hour before the third trace.
    const minute = i < 2 ? i : i + 60
    const times = { startedAt: at(minute), endedAt: at(minute + 0.1), spans: [] }
    const asked = [
      { role: 'user', content: 'Hello.' },
      { role: 'assistant', content: 'Yes?' },
      { role: 'user', content: `Question ${i}.` }
    ]
    const more = { name: `turn ${i}`, sessionId: 'talk/1', input: { messages: asked }, output: `Answer ${i}.` }
    ids.push((await recordAgent(service, { ...times, ...more })).id)
  }
  for (const [i, value] of [0.1, 0.5, 0.9].entries()) {
    const body = { name: 'helpful', dataType: 'numeric', value }
    await service.call('POST', `/api/v1/traces/${ids[i]}/scores`, { body })
  }
  const page = await visit(t, service)
  const turns = 'document.querySelectorAll(".turn").length'

  await page.open(`${service.url}/app/p/default/sessions?range=all`)
  await page.untilText('talk/1', 'small')
  await page.click('a.open', 'Question 0.')
  await page.untilText('Answer 0.', '.message')
  t.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  t.equal(await page.evaluate(turns), 50)
  const said = (await page.evaluate('document.querySelector(".turn").innerText')) as string
  t.match(said, /Question 0/)
  t.notMatch(said, /Yes\?/, 'earlier messages are not repeated')
  t.same(await page.evaluate('[...document.querySelectorAll(".gap")].map(each => each.innerText)'), ['1 h 1 min later'])
  const drawn = Number(await page.evaluate('document.querySelectorAll(".turn .message").length'))
  t.ok(drawn > 0 && drawn < 100, 'distant parts are not drawn')
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await page.until(`${turns} === 60`)
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)')
  await page.untilText('Answer 59.', '.message')
  const scrolled = await page.evaluate('scrollY')
  await page.click('.turn a.open', 'turn 59')
  await page.untilText('Question 59.')
  await page.evaluate('history.back()')
  await page.until(`${turns} === 60 && Math.abs(scrollY - ${scrolled}) < 400`)

  await page.open(`${service.url}/app/p/default/scores?range=24h&by=score`)
  await page.click('h2 a', 'helpful')
  await page.untilText('Score helpful', 'h1')
  await page.until('document.querySelectorAll(".plot-link").length === 2')
  // The last bar is for the value 0.9.
  await page.evaluate('document.querySelectorAll(".plot-link")[1].click()')
  await page.untilText('with the value 0.9', 'h2')
  await page.untilText('turn 2', '[aria-labelledby=scored] a.open')
  t.equal(await page.evaluate('document.querySelectorAll("[aria-labelledby=scored] tbody tr").length'), 1)

  // A user's page keeps the list's period and covers nothing else.
  for (const [name, days] of [
    ['recent', 1],
    ['earlier', 20]
  ] as const) {
    const startedAt = new Date(Date.now() - days * 86_400_000).toISOString()
    const times = { startedAt, endedAt: new Date(Date.parse(startedAt) + 1000).toISOString(), spans: [] }
    await recordAgent(service, { ...times, name, userId: 'ida', sessionId: `talk of ${name}` })
  }
  const listed = (label: string) => `[...document.querySelectorAll('[aria-label="${label}"] a.open')]
    .map(each => each.title || each.textContent).join()`
  await page.open(`${service.url}/app/p/default/users?range=30d&colour=red`)
  await page.untilText('This page ignores these parameters in the address: colour.')
  await page.click('a.open', 'ida')
  await page.until("location.pathname.endsWith('/users/ida') && location.search === '?range=30d'")
  await page.until(`${listed('Newest traces')} === 'recent,earlier'`)
  await page.until(`${listed('Sessions')} === 'talk of recent,talk of earlier'`)
  await page.evaluate(`{
    const period = [...document.querySelectorAll('.filter')].find(each => each.textContent.startsWith('Period'))
    const select = period.querySelector('select')
    select.value = '7d'
    select.dispatchEvent(new Event('change'))
  }`)
  await page.until(`${listed('Newest traces')} === 'recent' && ${listed('Sessions')} === 'talk of recent'`)
  t.same(await page.violations(), [])

  // Erasing is confirmed with the user's id, not with a number.
  await page.click('button', 'Erase…')
  await page.untilText('This deletes all 2 traces of this user in this project', 'dialog')
  t.same(await page.violations({ within: 'dialog[open]' }), [])
  await page.type('2')
  await page.press('Enter')
  await page.untilText('Type ida to erase.', 'dialog [role=alert]')
  await page.evaluate("document.querySelector('dialog input').select()")
  await page.type(' ida')
  await page.press('Enter')
  await page.untilText('2 traces of user ida erased', '.toasts')
  await page.until("location.pathname.endsWith('/users')")
  await recordAgent(service, { name: 'unnamed', userId: '\u200b', spans: [] })
  await page.open(`${service.url}/app/p/default/users/%E2%80%8B?range=30d`)
  await page.click('button', 'Erase…')
  await page.untilText('To confirm, type 1', 'dialog')
  t.same(page.errors, [])
})
