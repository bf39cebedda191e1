/**
 * Finds comments, strings, numbers and keywords in code. One table serves most languages, because a reader needs no
 * more than a hint of the structure. The time is linear in the length of the code.
 */

export interface CodeToken {
  readonly kind: 'comment' | 'string' | 'number' | 'keyword'
  readonly start: number
  readonly end: number
}

/** Longer code is not coloured, and neither are tokens beyond the second limit. */
const MOST = { characters: 30_000, tokens: 3000 }

const words = (text: string): readonly string[] => text.split(' ')
const SLASH = words(
  'js jsx ts tsx javascript typescript java c cpp c++ cs csharp go rust rs swift kotlin kt scala php css scss dart ' +
    'json jsonc proto'
)
const HASH = words('py python rb ruby sh bash shell zsh yaml yml toml r perl make dockerfile docker ini elixir nix')
const DASH = words('sql postgresql mysql sqlite lua haskell hs')

// An unclosed comment or string extends to the end of the code, so that each opening mark is scanned only once.
const STRINGS = [
  '"""[^]*?(?:"""|$)',
  "'''[^]*?(?:'''|$)",
  '"(?:[^"\\\\\\n]|\\\\.)*"',
  "'(?:[^'\\\\\\n]|\\\\.)*'",
  '`(?:[^`\\\\]|\\\\[^])*(?:`|$)'
].join('|')
const NUMBERS = '\\b(?:0[xX][\\da-fA-F_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\b'
const WORDS = '[A-Za-z_][\\w]*'

const patterns = new Map<string, RegExp>()
function patternOf(comments: string): RegExp {
  const known = patterns.get(comments)
  if (known !== undefined) return known
  const pattern = new RegExp(`(${comments})|(${STRINGS})|(${NUMBERS})|(${WORDS})`, 'g')
  patterns.set(comments, pattern)
  return pattern
}

const KEYWORDS = new Set(
  words(
    'abstract and as assert async await begin bool boolean break case catch char class const constructor continue ' +
      'def default defer del delete do done double elif else elsif end enum esac except export extends extern fi ' +
      'final finally float fn for foreach from func function global go goto if impl implements import in include ' +
      'instanceof int interface is lambda let long loop match mod module mut namespace new nil None nonlocal not ' +
      'null or override package pass private protected pub public raise readonly ref return self short sizeof static ' +
      'str string struct super switch then this throw throws trait true false True False try type typeof undefined ' +
      'union unless unsafe until use using val var void when where while with yield'
  )
)
const SQL = new Set(
  words(
    'select from where group by having order limit offset insert into values update set delete create table index ' +
      'view drop alter add column primary key foreign references join left right inner outer full on as and or not ' +
      'null is in exists between like union all distinct case when then else end with returning asc desc count sum ' +
      'avg min max'
  )
)

/** Returns the tokens of a code block whose fence names this language. Unknown languages have none. */
export function readCode(code: string, language: string): CodeToken[] {
  const name = language.toLowerCase()
  const comments = SLASH.includes(name)
    ? '\\/\\/[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)'
    : HASH.includes(name)
      ? '#[^\\n]*'
      : DASH.includes(name)
        ? '--[^\\n]*|\\/\\*[^]*?(?:\\*\\/|$)'
        : undefined
  if (comments === undefined || code.length > MOST.characters) return []
  const isSql = DASH.includes(name) && /sql/.test(name)
  const tokens: CodeToken[] = []
  for (const match of code.matchAll(patternOf(comments))) {
    const [found, comment, string, number] = match
    const isKeyword = isSql ? SQL.has(found.toLowerCase()) : KEYWORDS.has(found)
    const kind =
      comment !== undefined
        ? 'comment'
        : string !== undefined
          ? 'string'
          : number !== undefined
            ? 'number'
            : isKeyword
              ? 'keyword'
              : undefined
    if (kind !== undefined) tokens.push({ kind, start: match.index, end: match.index + found.length })
    if (tokens.length >= MOST.tokens) break
  }
  return tokens
}
