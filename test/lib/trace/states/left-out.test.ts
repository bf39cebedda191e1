import t from 'tap'
import { type CountedSpan, isLeftOutText, ranksOfLeftOut, readLeftOut } from '../../../../lib/trace/states/left-out.ts'

const call: CountedSpan = {
  ...{ id: 'a'.repeat(16), parentId: null, kind: 'llm', model: 'm', startMicros: 1, endMicros: 2, failed: false },
  ...{ inputTokens: 1, outputTokens: null, totalTokens: null, costUsd: 0.5, responseId: undefined }
}

t.test('a span without a slot is remembered with everything that the sums read', async t => {
  for (const over of [
    { responseId: 'r', costIsComputed: false },
    { responseId: 'r', costIsComputed: true },
    { responseId: undefined, costIsComputed: true },
    { responseId: undefined, costIsComputed: false, failed: true }
  ]) {
    const span = { ...call, ...over }
    const ranks = ranksOfLeftOut(undefined, [span])
    t.strictSame(readLeftOut(JSON.parse(JSON.stringify(ranks)), new Set<string>()), [span])
    for (const [, , text] of Object.values(ranks)) t.ok(isLeftOutText(text))
  }
  t.notOk(isLeftOutText('[null,"llm","m",1,null,null,0.5,1,null,"yes"]'))
  t.ok(isLeftOutText('[null,"llm","m",1,null,null,0.5,1]'), 'as versions up to 1.0.0-rc.1 wrote it')
})
