/** Tests the comparison of two traces in a browser. */
import t from 'tap'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { recordAgent, recordAgentAgain } from './traces.ts'
import { visit } from './visit.ts'

t.test('two traces are selected, compared and swapped, and the selection is in the address', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const [agent, again] = [await recordAgent(service), await recordAgentAgain(service)]
  const scores = [
    [agent, { name: 'quality', dataType: 'numeric', value: 0.7 }],
    [again, { name: 'quality', dataType: 'numeric', value: 0.9 }],
    [agent, { name: 'resolved', dataType: 'boolean', value: true }],
    [again, { name: 'resolved', dataType: 'boolean', value: true }],
    [again, { name: 'tone', dataType: 'categorical', value: 'kind' }]
  ] as const
  for (const [{ id }, body] of scores)
    t.equal((await service.call('POST', `/api/v1/traces/${id}/scores`, { body })).status, 201)
  const page = await visit(t, service)
  const pages = `${service.url}/app/p/default`
  const seen = (selector: string) =>
    page.evaluate(`[...document.querySelectorAll('${selector}')].map(each => each.textContent)`) as Promise<string[]>

  // If traces are selected in the list, the older trace is A, regardless of the order of selection.
  await page.open(`${pages}/traces?range=all`)
  for (const id of [again.id, agent.id]) {
    await page.until(`!!document.getElementById('t-${id}')`)
    await page.evaluate(`document.getElementById('t-${id}').closest('tr').querySelector('input').click()`)
  }
  await page.click('.selection a', 'Compare')
  await page.untilText('2 spans in both')
  t.equal(await page.evaluate('location.search'), `?a=${agent.id}&b=${again.id}`)
  t.equal(await page.evaluate('document.activeElement.tagName'), 'H1')
  await page.untilText('It comes on Monday.', 'ins')
  t.same(await seen('.diff del'), ['It comes tomorrow.'], "the traces' own input and output")
  t.match((await seen('.totals .is-difference td'))[0], /^−1\.20 s −29/)
  const scoresShown = '.side-changes[aria-label=Scores]'
  t.same(await seen(`${scoresShown} dt`), ['quality', 'resolved', 'tone'])
  t.same(await seen(`${scoresShown} dd`), ['0.7 → 0.9 +0.2', 'yes', '– → kind'])

  // At each width, all groups of columns have the same columns, and only narrow panes lack those of A.
  for (const width of [1920, 1440, 1280, 1100, 1024]) {
    await page.width(width)
    const isShown = 'each => each.offsetWidth > 0'
    const shown = await page.evaluate(`[...document.querySelectorAll('.aligned .is-head .trio')].map(trio =>
      [...trio.querySelectorAll('span:not(.trio-title)')].filter(${isShown}).map(each => each.textContent)
    )`)
    const columns = width !== 1100 ? ['A', 'B', 'change'] : ['B', 'change']
    t.same(shown, [columns, columns, columns], `${width}`)
    const cut = `[...document.querySelectorAll('.aligned .trio > span:not(.unseen)')]
      .filter(${isShown})
      .filter(each => each.scrollWidth > each.clientWidth + 1)
      .map(each => each.textContent)`
    t.same(await page.evaluate(cut), [], 'no number is cut off')
  }
  await page.width(1280)

  // The keyboard moves to the model call, which both traces contain.
  await page.evaluate("document.getElementById('aligned').focus()")
  for (const _ of [1, 2]) await page.press('ArrowDown')
  await page.until(`new URLSearchParams(location.search).get('span') === '${agent.spans[1]}'`)
  await page.untilText('model gpt-5-mini → gpt-5')
  await page.untilText('at once', 'ins')
  t.same(await seen('.aligned .is-gone .clip'), ['lookup_order', 'chat two'])
  t.same(await seen('.aligned .is-new .clip'), ['refund'])

  // The sides are swapped, and the row stays selected.
  await page.click('button', 'Swap A and B')
  await page.until(`location.search.startsWith('?a=${again.id}&b=${agent.id}')`)
  await page.untilText('model gpt-5 → gpt-5-mini')
  await page.untilText('at once', 'del')
  t.same(await seen('.aligned .is-gone .clip'), ['refund'])

  // Reloading shows the same page, and going back leads to the list.
  await page.open((await page.evaluate('location.href')) as string)
  await page.untilText('at once', 'del')

  // A trace's menu offers a comparison with the previous trace of the same name.
  await page.open(`${pages}/traces/${again.id}`)
  await page.click('.menu button', 'More')
  await page.click('[role=menuitem]', 'Compare with')
  await page.click('dialog a', 'Previous trace')
  await page.until(`location.search === '?a=${agent.id}&b=${again.id}'`)
  await page.untilText('2 spans in both')

  // The page reports a trace that does not exist, and an invalid id.
  await page.open(`${pages}/compare?a=${agent.id}&b=${'0'.repeat(32)}`)
  await page.untilText('no such trace')
  await page.open(`${pages}/compare?a=x&b=${again.id}`)
  await page.click('button', 'Compare')
  await page.untilText('Trace A: an ID has 32', '[role=alert]')
  t.same(
    page.errors.filter(error => !/status of 404/.test(error)),
    []
  )
})
