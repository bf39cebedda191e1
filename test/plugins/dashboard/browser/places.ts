/** Every page, dialog and menu of the dashboard, with its address and an element or text that it shows. */

import { indexNow, searchOn } from '../../../fixtures/service/searching.ts'
import type { TestService } from '../../../fixtures/service/service.ts'
import { type Recorded, recordAgent, recordAgentAgain, recordDeep, recordHostile, recordRunning } from './traces.ts'

/** Widths of the pages, in px: a large and a small computer, a tablet and a phone. */
export const WIDTHS = [1440, 1024, 768, 390] as const
export const THEMES = ['light', 'dark'] as const

/** Selector of the dialog or menu that is open. */
export const OPENED = 'dialog[open], [role=menu]'
/** Expression for the number of open dialogs and menus that the sides of the page cut off. */
export const CUT_OFF = `[...document.querySelectorAll('${OPENED}')].filter(each => {
  const { left, right } = each.getBoundingClientRect()
  return left < 0 || right > document.documentElement.clientWidth
}).length`

/** Expression for whether the page shows an element that matches a selector and has a text. */
export function isShown(selector: string, text: string): string {
  const found = `each.textContent.includes('${text}') && each.checkVisibility()`
  return `[...document.querySelectorAll('${selector}')].some(each => ${found})`
}

export interface Traces {
  readonly agent: Recorded
  readonly again: Recorded
  readonly hostile: Recorded
  readonly deep: Recorded
}

export async function recordAll(service: TestService): Promise<Traces> {
  await searchOn(service)
  const traces = {
    agent: await recordAgent(service),
    again: await recordAgentAgain(service),
    hostile: await recordHostile(service),
    deep: await recordDeep(service)
  }
  const { agent } = traces
  await recordRunning(service)
  await service.database.pool.run(
    sql => sql`insert into saved_views (project_id, name, page, query) values (1, 'Red', 'traces', '?status=error')`
  )
  await indexNow(service)
  for (const score of [
    { name: 'helpful', dataType: 'numeric', value: 0.5, comment: 'Fine.' },
    { name: 'verdict', dataType: 'categorical', value: 'correct', spanId: agent.spans[1] }
  ]) {
    await service.call('POST', `/api/v1/traces/${agent.id}/scores`, { body: score })
  }
  return traces
}

/** Returns each page's address relative to `/app/`, and text that the page shows. */
export function pagesOf({ agent, again, hostile, deep }: Traces): [address: string, shown: string][] {
  const trace = `p/default/traces/${agent.id}`
  const overview = 'p/default/overview?from=2026-11-25T00:00:00Z&to=2026-11-25T23:59:59Z'
  return [
    ['p/default/traces?range=all', 'support-agent'],
    ['p/default/traces?status=error&range=all', '[U+202E]evil'],
    ['p/default/traces?name=none', 'No traces match'],
    ['p/default/traces?q=ORDER&status=ok&sort=slowest&range=all', 'Where is my order?'],
    [trace, 'Where is my order?'],
    [`${trace}?span=${agent.spans[3]}`, 'the same as in call 1 (chat one)'],
    [`${trace}?span=${agent.spans[1]}&tab=json`, 'lookup_order'],
    [`${trace}?span=${agent.spans[1]}&tab=attributes`, '1e+21'],
    [`${trace}?span=${agent.spans[2]}&tab=events`, 'attempt'],
    [`${trace}?span=trace&tab=scores`, 'helpful'],
    [`${trace}?span=trace&tab=metadata`, '2.14.0'],
    [`${trace}?span=0123456789abcdef&words=x`, 'This trace has no span 0123456789abcdef.'],
    [`${trace}?view=log`, 'It comes **tomorrow**.'],
    [`${trace}?view=turns`, 'Turn 1'],
    [`${trace}?q=transit`, 'matches in'],
    [`p/default/traces/${hostile.id}`, 'U+202E'],
    [`p/default/traces/${deep.id}`, 'level 5'],
    [`p/default/compare?a=${agent.id}&b=${again.id}&span=${agent.spans[1]}`, 'at once'],
    ['p/default/compare', 'enter their IDs'],
    ['p/default/sessions?range=all', 's/1 ä'],
    ['p/default/sessions/s%2F1%20%C3%A4', 'Where is my order?'],
    ['p/default/sessions?range=all&sort=cost', 's/1 ä'],
    ['p/default/users?prefix=u&range=1y', 'u-3'],
    ['p/default/users?sort=cost&range=1y', 'u-3'],
    ['p/default/users/u-3', 'Newest traces'],
    ['p/default/errors?from=2026-11-25T00:00:00Z&to=2026-11-25T23:59:59Z', 'Latest'],
    ['p/default/errors?range=1h', 'Nothing failed'],
    ['p/default/steps?range=all&kind=llm&sort=slowest', 'gpt-5-mini'],
    ['p/default/steps?range=1h', 'No steps'],
    ['p/default/scores', 'helpful'],
    ['p/default/scores?name=helpful&min=0', 'Given by'],
    ['p/default/review?name=support-agent&judge=helpful&range=all', 'Where is my order?'],
    ['p/default/review?name=none', 'No traces match'],
    [overview, 'gpt-5-mini'],
    [`${overview}&table=traces,latency`, 'Wed 25 Nov'],
    [`${overview}&by=step`, 'By step'],
    [`${overview}&of=tokens&at=2026-11-25T10:00:00.000Z`, 'Largest changes by'],
    [`${overview}&name=none`, 'No traces match these filters'],
    ['p/default/groups', 'Choose a field'],
    [`p/default/groups?a=model:gpt-5-mini&b=name:support-agent&${overview.split('?')[1]}`, 'Examples'],
    ['p/default/settings/keys', 'Create a key'],
    ['p/default/settings/members', '@example.com'],
    ['p/default/settings/views', 'Make private'],
    ['p/default/settings/scores', 'Define a score'],
    ['p/default/settings/prices', 'Set a price'],
    ['p/default/settings/audit', 'Download as NDJSON'],
    ['p/default/settings/project', 'Storage'],
    ['account', 'Signed-in devices'],
    ['nothing', 'Page not found'],
    ['p/default/traces/0123456789abcdef0123456789abcdef', 'no such']
  ]
}

/** Returns each dialog and menu with the element that opens it. */
export function dialogsOf({ agent }: Traces): [address: string, selector: string, text: string][] {
  return [
    ['p/default/traces?range=all', 'button', 'Columns'],
    ['p/default/traces?range=all', '.menu button', 'Sort'],
    ['p/default/traces?range=all', '.menu button', 'Views'],
    ['p/default/traces?range=all', '.menu button', 'All matches'],
    ['p/default/traces?range=all', '.time button', 'All time'],
    ['p/default/traces?range=all', 'button', 'Search'],
    [`p/default/traces/${agent.id}`, 'button', 'Annotate'],
    [`p/default/traces/${agent.id}`, '.menu button', 'Copy'],
    [`p/default/traces/${agent.id}`, '.menu button', 'More'],
    ['p/default/settings/keys', 'button', 'Create a key'],
    ['p/default/settings/keys', 'button', 'Revoke'],
    ['p/default/settings/members', 'button', 'Invite'],
    ['p/default/settings/scores', 'button', 'Define a score'],
    ['p/default/settings/prices', 'button', 'Set a price'],
    ['account', '.mine button', '']
  ]
}
