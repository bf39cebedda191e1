import t from 'tap'
import { fold, runsOf } from '../../../lib/search/words.ts'

const wordsOf = (text: string) => runsOf(text).map(({ start, end }) => text.slice(start, end))

t.test('texts are split into words, and texts in scripts without spaces into n-grams', t => {
  const cases: [string, string[]][] = [
    ["Don't order_no-17, please!", ['Don', 't', 'order', 'no', '17', 'please']],
    ['東京タワーへ 2024年', ['東京タワーへ', '2024', '年']],
    ['GPT模型 ภาษาไทย', ['GPT', '模型', 'ภาษาไทย']],
    ['हिन्दी में e\u0301te\u0301 𠮷野家 😀', ['हिन्दी', 'में', 'e\u0301te\u0301', '𠮷野家']]
  ]
  for (const [text, words] of cases) t.same(wordsOf(text), words)
  for (const same of [
    ['ÉTÉ', 'e\u0301te\u0301', 'ete'],
    ['STRASSE', 'Straße'],
    ['ΟΔΟΣ', 'οδός'],
    ['ｶﾞ', 'ガ'],
    ['İ', 'i']
  ]) {
    t.equal(new Set(same.map(fold)).size, 1, same.join(' '))
  }
  t.end()
})
