import t from 'tap'
import { Progress } from '../../../bin/terminal/progress.ts'
import { bar, count, counted } from '../../../bin/terminal/words.ts'

function terminal(isTTY: boolean) {
  const written: string[] = []
  return { written, isTTY, columns: 20, write: (text: string) => written.push(text) }
}

t.test('on a terminal, one line is redrawn, and makes way for lines that stay', async t => {
  const screen = terminal(true)
  const progress = new Progress(screen)
  progress.show(() => 'a line that is longer than the screen is wide')
  progress.show(() => 'too soon')
  progress.say('this stays')
  progress.clear()
  t.same(screen.written, ['\r\u001b[Ka line that is long', '\r\u001b[K', 'this stays\n'])
})

t.test('elsewhere, work that finishes at once prints nothing', async t => {
  const screen = terminal(false)
  const progress = new Progress(screen)
  progress.show(() => 'working')
  progress.say('this stays')
  progress.clear()
  t.same(screen.written, ['this stays\n'])
})

t.test('numbers and bars', async t => {
  t.same([count(1234567), counted(1, 'trace'), counted(0, 'trace')], ['1,234,567', '1 trace', '0 traces'])
  t.same(bar(0, 10), '[--------------------]   0 %')
  t.same(bar(5, 10), '[##########----------]  50 %')
  t.same(bar(11, 10), '[####################] 100 %')
  t.same(bar(0, 0), '[####################] 100 %')
})
