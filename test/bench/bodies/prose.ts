/**
 * Text that reads and compresses like the input and output of language models: common English words, a long tail of
 * rarer words, numbers, line breaks and, on request, non-ASCII characters. The same seed gives the same text.
 */

/** Returns numbers in [0, 1). The same seed gives the same numbers (mulberry32). */
export function seededRandom(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000
  }
}

const COMMON_WORDS =
  `the of and to in a is that for it as was with be by on not he his but at are this have from or had an
they which one you were all her she there would their we him been has when who will no more if out so up said what its
about than into them can only other time new some could these two may first then do any like my now over such our man me
even most made after also well did many before must years back through much where your way down should because long each
just state people those too very good make world still see own work men day get here old between both life being under
three never know same last another while us off might great go come since against right came take used himself few house
use place during high without again home around small however found part thought went say every once upon school general
does got united left number course war until always away something fact water less public put think almost hand enough
far took head yet government system set better told nothing night end why called find going look asked later point knew
customer account order payment invoice refund policy request response server database index query error model answer
question document section source report result summary table value field record change update version release customer's
contract deadline shipment delivery region price discount agreement meeting schedule budget estimate quarter revenue
available recommended required optional according following previous current additional multiple specific important
possible therefore although several within across including provided confirmed expected`.split(/\s+/)

const ONSETS = [
  '',
  'b',
  'br',
  'c',
  'ch',
  'd',
  'f',
  'fl',
  'g',
  'gr',
  'l',
  'm',
  'n',
  'p',
  'pl',
  'qu',
  'r',
  's',
  'st',
  't',
  'tr',
  'v'
]
const NUCLEI = ['a', 'e', 'i', 'o', 'u', 'ai', 'ea', 'io', 'ou', 'er', 'al', 'en', 'or', 'in']
const CODAS = ['', '', 'n', 'r', 's', 't', 'l', 'm', 'ck', 'nt', 'st', 'ng', 'ment', 'tion', 'ly', 'ing', 'ed', 'ness']
const BEYOND_ASCII = ['café', 'naïve', '“quoted”', 'it’s', 'São Paulo', '–', '…', '東京', '✅', 'Zürich', '€40']

export interface Prose {
  /** Returns a number in [0, 1). */
  random(): number
  /** Returns an integer from 0 to `below` - 1. */
  integer(below: number): number
  pick<T>(choices: readonly T[]): T
  /** Returns random lower-case hexadecimal digits. */
  hex(digits: number): string
  /** Returns sentences with a total of exactly `length` characters. */
  text(length: number): string
}

/**
 * Creates a source of text. With `beyondAscii`, the text also contains accents, typographic quotes, other scripts and
 * an emoji.
 */
export function createProse(seed: number, beyondAscii = false): Prose {
  const random = seededRandom(seed)
  const integer = (below: number) => Math.floor(random() * below)
  const pick = <T>(choices: readonly T[]) => choices[integer(choices.length)]!

  const rareWord = () => {
    let word = ''
    for (let syllables = 1 + integer(3); syllables > 0; syllables--) word += pick(ONSETS) + pick(NUCLEI)
    return word + pick(CODAS)
  }
  const word = () => {
    const chance = random()
    if (chance < 0.03) return String(integer(10_000))
    if (chance < 0.05 && beyondAscii) return pick(BEYOND_ASCII)
    // Squaring favours the front of the list, which approximates the frequencies of words.
    return chance < 0.3 ? rareWord() : COMMON_WORDS[Math.floor(random() ** 2 * COMMON_WORDS.length)]!
  }
  const sentence = () => {
    const words = Array.from({ length: 6 + integer(14) }, word)
    const text = words.join(' ')
    return `${text.charAt(0).toUpperCase()}${text.slice(1)}${pick(['.', '.', '.', '?', ':', '.\n', '.\n\n- '])} `
  }

  return {
    random,
    integer,
    pick,
    hex: digits => Array.from({ length: digits }, () => integer(16).toString(16)).join(''),
    text(length) {
      let text = ''
      while (text.length < length) text += sentence()
      return text.slice(0, length)
    }
  }
}
