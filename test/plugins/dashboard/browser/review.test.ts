/** Tests annotations and reviews in a browser, and counts the keys that they take. */
import t from 'tap'
import { freshId } from '../../../fixtures/database/seed.ts'
import { testService } from '../../../fixtures/service/service.ts'
import { hasChromium } from '../../browser.ts'
import { ownProject, visit } from './visit.ts'

t.test('in a browser', async t => {
  if (!(await hasChromium())) {
    t.comment("Debian's package chromium is not installed: no page was opened in a browser.")
    return
  }
  const service = await testService(t)
  const page = await visit(t, service)
  const { pool } = service.database
  const record = async ({ call }: Pick<typeof service, 'call'>, input: string) => {
    const [id, rootId, spanId, now] = [freshId(32), freshId(16), freshId(16), Date.now()]
    const [startedAt, endedAt] = [new Date(now - 1000).toISOString(), new Date(now).toISOString()]
    // The root's row stands for the trace, so a span that can be judged by itself needs a parent.
    const root = { id: rootId, name: 'agent', kind: 'agent', startedAt, endedAt, input, output: `Answer to ${input}` }
    const span = { ...root, id: spanId, parentSpanId: rootId, name: 'answer', kind: 'llm' }
    const trace = {
      id,
      name: 'qa',
      status: 'ok',
      startedAt,
      endedAt,
      input,
      output: `Answer to ${input}`,
      spans: [root, span]
    }
    t.equal((await call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
    return { id, spanId }
  }
  const scoresOf = (slug: string) =>
    pool.run(
      sql => sql`
        select s.name, s.value, s.comment, encode(s.span_id, 'hex') as "spanId", replace(t.id::text, '-', '') as id
        from scores s join traces t on t.project_id = s.project_id and t.seq = s.trace_seq
        join projects p on p.id = s.project_id where p.slug = ${slug} order by s.seq`
    )
  const define = (slug: string) =>
    pool.run(
      sql => sql`
        insert into score_definitions (project_id, name, data_type, minimum, maximum, categories)
        select id, 'quality', 'numeric', 1, 5, '{}'::text[] from projects where slug = ${slug}
        union all select id, 'verdict', 'categorical', null, null, '{correct,partly,wrong}' from projects
          where slug = ${slug}`
    )

  t.test('an annotation scores the trace in three key presses, and the span only from its panel', async t => {
    const project = await ownProject(service)
    await define(project.slug)
    const { id, spanId } = await record(project, 'one')
    await page.open(`${project.pages}/traces/${id}`)
    await page.untilText('Answer to one')
    await page.press('a')
    await page.until(`document.activeElement?.closest('.score-choices') !== null`)
    await page.press('4')
    await page.press('Enter')
    await page.untilText('Score quality added')
    await page.press('a')
    await page.click('dialog .names button', 'verdict')
    await page.until(`document.activeElement?.closest('.score-choices')?.textContent.includes('correct')`)
    await page.press('w')
    await page.until(`document.querySelector('.score-choices :checked')?.parentElement.textContent.includes('wrong')`)
    await page.click('dialog button', 'Add score')
    await page.untilText('Score verdict added')

    await page.open(`${project.pages}/traces/${id}?span=${spanId}&tab=scores`)
    await page.click('.score-list button', 'Annotate')
    await page.until(`document.querySelector('dialog [aria-pressed=true]')?.textContent === 'verdict'`)
    await page.untilText('this span, answer', 'dialog')
    await page.until(`document.activeElement?.closest('.score-choices')?.textContent.includes('correct')`)
    await page.press('c')
    await page.click('dialog button', 'Add score')
    await page.until(`document.querySelector('dialog') === null`)
    t.match(await scoresOf(project.slug), [
      { name: 'quality', value: 4, spanId: null },
      { name: 'verdict', value: 'wrong', spanId: null },
      { name: 'verdict', value: 'correct', spanId }
    ])
  })

  t.test('twenty scores take fewer than sixty key presses and no click', async t => {
    const project = await ownProject(service)
    await define(project.slug)
    for (let i = 0; i < 20; i++) await record(project, `question ${i}`)
    // Earlier tests left the name of another score in the browser.
    await page.evaluate('localStorage.clear()')
    await page.open(`${project.pages}/traces?name=qa`)
    await page.until(`document.querySelectorAll('.traces a.open').length === 20`)
    let keys = 0
    const press = async (key: string) => {
      keys++
      await page.press(key)
    }
    // The keys of a pair must follow each other within a second, which a busy machine may not manage.
    for (let i = 0; i < 5 && !String(await page.evaluate('location.pathname')).endsWith('/review'); i++) {
      await press('g')
      await press('r')
    }
    for (let i = 19; i >= 0; i--) {
      await page.untilText(`Answer to question ${i}`, '.reviewed')
      await page.untilText(`${20 - i} of 20`, '.review-progress')
      await page.until(`document.querySelector('.verdict-choices') !== null`)
      if (i === 10) await press('j')
      else await press(String(1 + (i % 5)))
    }
    await page.untilText('You scored 19 traces, skipped 1', '.review-summary')
    await press('u')
    await page.untilText('Answer to question 0', '.reviewed')
    await press('5')
    await page.untilText('Review complete')
    await press('r')
    await page.untilText('Answer to question 10', '.reviewed')
    await press('m')
    await page.until(`document.activeElement?.getAttribute('aria-label') === 'Comment'`)
    await page.type('Needs a source.')
    await press('Escape')
    await press('1')
    await page.untilText('You scored 20 traces.', '.review-summary')
    t.ok(keys < 60, `${keys} keys`)
    const scores = await scoresOf(project.slug)
    t.equal(scores.length, 20)
    t.equal(new Set(scores.map(({ id }) => id)).size, 20, 'each trace is judged once')
    t.match(scores.at(-1), { value: 1, comment: 'Needs a source.', spanId: null })
  })

  t.test('two people get different traces, and scored traces are not offered again', async t => {
    const project = await ownProject(service)
    await define(project.slug)
    for (const name of ['one', 'two', 'three']) await record(project, name)
    const other = await visit(t, service, 'member')
    const address = `${project.pages}/review?name=qa&judge=quality`
    await page.open(address)
    await page.untilText('Answer to three', '.reviewed')
    await other.open(address)
    await other.untilText('Answer to two', '.reviewed')
    await page.press('5')
    await page.untilText('Answer to one', '.reviewed')
    await other.press('5')
    await other.untilText('2 went to other reviewers', '.review-summary')
    await page.press('5')
    await page.untilText('Review complete')
    await page.open(address)
    await page.untilText('All matching traces already have this score.')
    t.equal((await scoresOf(project.slug)).length, 3)
    t.same(page.errors, [])
  })

  t.test("a review uses a list's filters and times, and offers running traces last", async t => {
    const project = await ownProject(service)
    await define(project.slug)
    const ids = { running: freshId(32), old: freshId(32) }
    await record(project, 'finished')
    const startedAt = new Date().toISOString()
    const trace = { id: ids.running, name: 'qa', startedAt, input: 'still going' }
    t.equal((await project.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace } })).status, 201)
    const day = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()
    const old = { id: ids.old, name: 'qa', status: 'ok', startedAt: day(20), endedAt: day(19.99), input: 'long ago' }
    t.equal((await project.call('POST', '/api/v1/traces', { body: { schemaVersion: 1, trace: old } })).status, 201)

    await page.open(`${project.pages}/review?name=qa&judge=quality`)
    await page.untilText('1 of 2', '.review-progress')
    await page.untilText('Last 7 days', '.review-head')
    await page.untilText('name: qa', '.review-head')
    await page.untilText('Answer to finished', '.reviewed')
    await page.press('j')
    await page.untilText('This trace is still running', '.reviewed')
    await page.untilText('still going', '.reviewed')

    await page.open(`${project.pages}/review?name=qa&minDuration=600000&range=30d&judge=quality&colour=red`)
    await page.untilText('Last 30 days', '.review-head')
    await page.untilText('name: qa · duration ≥ 10 min', '.review-head')
    await page.untilText('long ago', '.reviewed')
    await page.untilText('ignores these parameters in the address: colour', '.review')
    await page.untilText('1 of 1', '.review-progress')
    t.same(await page.violations(), [])
    t.same(page.errors, [])
  })

  t.test('a typed value is checked against its range, and typing never adds a score', async t => {
    const project = await ownProject(service)
    await pool.run(
      sql => sql`
        insert into score_definitions (project_id, name, data_type, minimum, maximum, categories)
        select id, 'share', 'numeric', 0, 0.9, '{}'::text[] from projects where slug = ${project.slug}
        union all select id, 'note', 'categorical', null, null, '{}' from projects where slug = ${project.slug}
        union all select id, 'verdict', 'categorical', null, null, '{good,wrong}' from projects
          where slug = ${project.slug}`
    )
    for (const name of ['one', 'two', 'three']) await record(project, name)
    await page.open(`${project.pages}/review?judge=share`)
    await page.untilText('Answer to three', '.reviewed')
    await page.untilText('number, 0 to 0.9', '.review-head')
    // The trace has the focus, and the first key of a number begins a value.
    const isQueue = `document.activeElement?.getAttribute('aria-label') === 'Trace to review'`
    const isField = `document.activeElement?.getAttribute('aria-label') === 'Value of share'`
    await page.until(isQueue)
    await page.press('-')
    await page.until(`${isField} && document.activeElement.value === '-'`)
    await page.press('Escape')
    await page.press('v')
    await page.until(isField)
    for (const [typed, message] of [
      ['1', 'The value must be at most 0.9.'],
      ['-1', 'The value must be at least 0.'],
      ['x', 'The value must be a number.']
    ] as const) {
      await page.evaluate('document.activeElement.select()')
      await page.type(typed)
      await page.press('Enter')
      await page.untilText(message, '.verdict [role=alert]')
    }
    t.same(await scoresOf(project.slug), [])
    t.same(await page.violations(), [])
    await page.evaluate('document.activeElement.select()')
    await page.type('0.5')
    await page.press('Enter')
    await page.untilText('2 of 3', '.review-progress')
    await page.until(isQueue)
    t.match(await scoresOf(project.slug), [{ name: 'share', value: 0.5 }])
    await page.untilText('Skip', '.verdict-more')
    await page.press('k')
    await page.untilText('Your score: 0.5', '.verdict')
    await page.untilText('Next', '.verdict-more')
    await page.press('j')
    await page.press('j')
    await page.untilText('3 of 3', '.review-progress')
    t.equal((await scoresOf(project.slug)).length, 1, 'moving on adds no score')

    // The field of a text keeps the focus while the score is stored, so letters that are typed early are no shortcuts.
    await page.open(`${project.pages}/review?judge=note`)
    await page.untilText('any text', '.review-head')
    await page.until(isQueue)
    await page.press('v')
    await page.type('fine')
    await page.press('Enter')
    for (const key of 'ujk') await page.press(key)
    await page.untilText('2 of 3', '.review-progress')
    t.match((await scoresOf(project.slug)).at(-1), { name: 'note', value: 'fine' })

    await page.open(`${project.pages}/review?judge=verdict`)
    await page.untilText('1 of 3', '.review-progress')
    await page.until(`document.querySelector('.verdict-choices') !== null`)
    // Nothing waits between the keys: a comment, and words for a box that is still loading.
    for (const key of 'mow') await page.press(key)
    await page.until(`document.activeElement?.value === 'ow'`)
    await page.press('Escape')
    await page.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 400,
      downloadThroughput: -1,
      uploadThroughput: -1
    })
    for (const key of '/ow') await page.press(key)
    await page.until(`document.querySelector('dialog[open] input') !== null`)
    await page.press('Escape')
    await page.until(`document.querySelector('dialog') === null`)
    t.equal((await scoresOf(project.slug)).length, 2, 'no key added a score')
    await page.press('o')
    await page.untilText('2 of 3', '.review-progress')
    t.match((await scoresOf(project.slug)).at(-1), { name: 'verdict', value: 'good', comment: 'ow' })
    t.same(page.errors, [])
  })

  t.test('an owner defines a score in the settings, and the review offers it', async t => {
    const project = await ownProject(service)
    await record(project, 'defined')
    await page.open(`${project.pages}/review`)
    await page.untilText('This project has no scores yet.')
    await page.open(`${project.pages}/settings/scores`)
    await page.click('button', 'Define a score')
    await page.until(`document.activeElement?.maxLength === 64`)
    await page.type('tone')
    await page.click('dialog .choices label', 'Category')
    await page.until(`!!document.querySelector('dialog textarea')`)
    await page.evaluate(`document.querySelector('dialog textarea').focus()`)
    await page.type('warm\ncold')
    await page.click('dialog button', 'Save')
    await page.untilText('warm, cold', 'td')
    await page.open(`${project.pages}/review`)
    await page.untilText('warm', '.verdict-choices')
    await page.press('w')
    await page.untilText('Review complete')
    t.match(await scoresOf(project.slug), [{ name: 'tone', value: 'warm' }])
  })
})
