/**
 * Turns an error message into its pattern, the message with placeholders in place of values that differ from failure
 * to failure: ids, paths, URLs, times, numbers, addresses and quoted names. Messages of one fault have one pattern.
 *
 * Some numbers are part of the fault and stay: HTTP statuses, exit codes, errno, SQLSTATE and other products' codes. A
 * name in quotes stays if only code can contain it, such as the property in `(reading 'map')`. In JSON, or Python's
 * spelling of it, keys stay, and so do the values of keys that describe the fault, such as `message`.
 */

/** Maximum number of characters of a message that its pattern depends on, and of a pattern. */
const MOST_READ = 2000
const MOST_SHOWN = 300
/** Maximum number of lines, because the lines that follow hold input values, stack traces and hints. */
const MOST_LINES = 3
/** Maximum number of characters of a message that is parsed as JSON. */
const MOST_JSON = 65_536

/** Members of JSON that state a fault. Their values stay. */
const SPOKEN =
  /^(?:error|errors|error_?(?:type|code|message)|err|type|code|status|status_?code|state|message|msg|reason|detail|details|title|description|cause|param|loc|path|severity|name)$/i

/** Returns the pattern of a message; an empty string if the message has no text. */
export function patternOf(message: string): string {
  const text = linesOf(textOf(message.trim())).slice(0, MOST_READ)
  return shorten(tidy(mask(text)))
}

/** Returns the text that describes the fault: for JSON, the members that describe it; for an HTML page, its title. */
function textOf(message: string): string {
  if (/^[[{]/.test(message) && message.length <= MOST_JSON) {
    const spoken = spokenOf(message)
    if (spoken !== '') return spoken
  }
  const page = /<title>([^<]{1,200})<\/title>/i.exec(message)
  if (page !== null && /<(?:!doctype|html)/i.test(message)) {
    const before = message.slice(0, message.search(/<(?:!doctype|html)/i))
    return `${before} ${page[1]}`
  }
  // The last line of Python's traceback describes the fault; the preceding lines say where.
  if (/^Traceback \(most recent call last\)/m.test(message)) {
    return /\n([A-Za-z_][\w.]*(?:: [^\n]*)?)\s*$/.exec(message)?.[1] ?? message
  }
  return message
}

function spokenOf(json: string): string {
  let value: unknown
  try {
    value = JSON.parse(json)
  } catch {
    return ''
  }
  const said: string[] = []
  const visit = (each: unknown, isSpoken: boolean, depth: number) => {
    if (depth > 8 || said.length >= 12) return
    if (Array.isArray(each))
      for (const item of each.slice(0, 4)) visit(item, isSpoken && typeof item !== 'number', depth + 1)
    else if (typeof each === 'object' && each !== null) {
      for (const [name, member] of Object.entries(each)) visit(member, SPOKEN.test(name), depth + 1)
    } else if (isSpoken && (typeof each === 'string' || typeof each === 'number')) said.push(codeOrText(String(each)))
  }
  visit(value, false, 0)
  return said.join(' ')
}

/** A number that a member contains is a code if it is short. The word before it keeps it from being masked. */
const codeOrText = (text: string): string => (/^\d{1,5}$/.test(text) ? `code ${text}` : text)

function linesOf(text: string): string {
  const lines = text.split('\n', 40).filter(line => /[\p{L}\p{N}]/u.test(line))
  // A stack trace says where the fault arose, not which fault it is.
  const said = lines.filter((line, i) => i === 0 || !/^\s*(?:at\s|File "|\^+$|Require stack:|- \/)/.test(line))
  return said.slice(0, MOST_LINES).join(' ')
}

const UNITS =
  '(?:ns|us|µs|ms|s|secs?|seconds?|m|mins?|minutes?|h|hrs?|hours?|d|days?|b|bytes?|k|kb|kib|mb|mib|gb|gib|tb|tib|px|rpm|tpm|x|st|nd|rd|th)'
const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*'
const EXTENSIONS =
  'avro|bin|bmp|c|cc|cfg|cjs|conf|cpp|cs|css|csv|db|doc|docx|dll|env|exe|gif|go|gz|h|html?|ini|ipynb|jar|java|jpe?g|js|json|jsonl|jsx|key|kt|lock|log|lua|md|mjs|mov|mp3|mp4|parquet|pdf|pem|php|pkl|png|ppt|pptx|proto|ps1|py|pyc|pyi|r|rb|rs|scala|sh|so|sql|sqlite|svg|swift|tar|tgz|tiff?|toml|tmp|ts|tsv|tsx|txt|wav|webm|webp|whl|xls|xlsx|xml|ya?ml|zip'
const TOP_DOMAINS =
  'ai|app|ca|ch|cloud|cn|co|com|corp|de|dev|edu|eu|fr|gov|in|internal|io|it|jp|lan|local|net|nl|org|ru|svc|uk|us'

/** A rule's replacement of a match: a placeholder, or a function of the match. */
type Outcome = string | ((match: string, groups: readonly (string | undefined)[]) => string)

/**
 * The rules in order of precedence, each an expression without named groups. At each position of a message, the first
 * rule that matches decides. `unmasked` keeps the match.
 */
const unmasked: Outcome = match => match
const RULES: readonly (readonly [expression: string, outcome: Outcome])[] = [
  // URLs, including data URLs.
  [String.raw`\b[a-z][a-z0-9+.-]{1,20}:\/\/[^\s'"<>\x60)\]}]+|\bdata:[\w/+.-]+;base64,[\w+/=]+`, '<url>'],
  [String.raw`[\p{L}\p{N}_.+-]+@[\w-]+(?:\.[\w-]+)+`, '<email>'],
  // Times.
  [
    String.raw`\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?(?:Z|UTC|GMT|[+-]\d\d:?\d\d)\b)?)?`,
    '<time>'
  ],
  [
    String.raw`\b(?:(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*,? )?(?:\d{1,2} ${MONTH}` +
      String.raw`|${MONTH} \d{1,2}),? \d{4}(?:,? \d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?(?: (?:GMT|UTC|[+-]\d{4}))?)?`,
    '<time>'
  ],
  [String.raw`\b\d{1,4}\/\d{1,2}\/\d{2,4}(?:,? \d{1,2}:\d\d(?::\d\d)?(?: ?[AP]M)?)?\b`, '<time>'],
  // Hex ids and addresses.
  [String.raw`\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b`, '<id>'],
  [String.raw`\b0x[0-9a-f]+\b`, '<id>'],
  [
    String.raw`\[(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{0,4}\](?::\d+)?|\b(?:[0-9a-f]{1,4}:){3,7}(?::?[0-9a-f]{1,4})\b` +
      String.raw`|(?<![\w:])::1(?::\d+)?\b`,
    '<address>'
  ],
  [String.raw`\b\d{1,3}(?:\.\d{1,3}){3}(?:\/\d{1,2}|:\d+)?\b`, '<address>'],
  [String.raw`\b(?:localhost|[a-z0-9_-]+(?:\.[a-z0-9_-]+)+):\d{2,5}(?!\d|:\d)`, hostOrFile],
  [String.raw`\b[a-z0-9_-]+(?:\.[a-z0-9_-]+)*\.(?:${TOP_DOMAINS})\b(?![\w(])`, '<address>'],
  [String.raw`\b\d{1,2}:\d\d(?::\d\d(?:[.,]\d+)?)?(?: ?[AP]M\b)?`, '<time>'],
  // Paths: absolute, relative with two slashes or an extension, and files.
  [String.raw`\b[a-z]:\\[^\s'"<>|]+|\\\\[\w.$-]+\\[^\s'"<>|]+`, '<path>'],
  [
    String.raw`(?<![\w<>/.])(?:~|\.{1,2})?\/[\p{L}\p{N}_@%+~$:{}.-]*[\p{L}\p{N}_%~$}-](?:\/[\p{L}\p{N}_@%+~$:{}` +
      String.raw`=.-]+)*\/?(?::\d+){0,2}(?:\?[^\s'"]+)?`,
    '<path>'
  ],
  [String.raw`(?<![\w<>/.@])@?[\w.-]+(?:\/[\w.@-]+){2,}(?::\d+){0,2}`, '<path>'],
  [String.raw`(?<![\w<>/.])(?:[\w.@-]+\/)?[\w-]+(?:\.[\w-]+)*\.(?:${EXTENSIONS})(?::\d+){0,2}\b(?![(\w])`, '<path>'],
  // Codes, which are part of the fault.
  [
    String.raw`\b(?:(?:http(?:\/\d(?:\.\d)?)?|status)(?: ?(?:status|response|error))?(?: ?code)?(?: of| is` +
      `| was)?|(?:status|error|return|exit|response|result|grpc|sql)[ _]?codes?|errno|winerror` +
      `|exit(?:ed)?(?: with)?(?: (?:code|status|value))?|exit status|signal|sqlstate` +
      String.raw`|ret(?:urn)?)["']?(?: ?[:=([] ?| is | was | )["']?-?(?:[1-9]\d{0,4}|0|[0-9A-Z]{5})\b(?![.,]\d` +
      String.raw`|[-_:]\w)`,
    unmasked
  ],
  [String.raw`\bcode["']?(?: ?[:=([] ?| )["']?-?(?:[1-9]\d{0,4}|0|[0-9]{2}[0-9A-Z]{3})\b(?![.,]\d|[-_:]\w)`, shortCode],
  [
    String.raw`(?<=\b(?:Error|Response|failed|HTTP|status|[A-Z][a-z]+ (?:Error|Request|Requests|Found|Gateway` +
      String.raw`|Timeout|Unavailable)|Unauthorized|Forbidden) ?[([])[45]\d\d(?=[)\]])|(?:^` +
      String.raw`|(?<=[( ]))[45]\d\d(?=:? (?:Client Error|Server Error|Bad|Unauthori[sz]ed|Payment|Forbidden|Not` +
      `|Method|Proxy|Request|Conflict|Gone|Length|Precondition|Payload|Content|URI|Unsupported|Range` +
      `|Expectation|Misdirected|Unprocessable|Locked|Failed|Too|Upgrade|Internal|Service|Gateway|HTTP` +
      String.raw`|Variant|Insufficient|Loop|Network|Overloaded|Error|\{))`,
    unmasked
  ],
  [
    String.raw`\b(?:ORA-\d{5}|TNS-\d{5}|PLS-\d{5}|error TS\d{4,5}|E1100[01]|P[1-6]0[0-3]\d|PGRST\d{3}` +
      String.raw`|SQL\d{4}N|AADSTS\d+|error:? -3\d{4})\b|\bERROR \d{4} \(\w{5}\)|\bcurl: \(\d{1,2}\)`,
    unmasked
  ],
  // An HTTP status without these words, if it cannot be a quantity.
  [
    String.raw`\b(?:returned|returns|responded(?: with)?|response|got|gave|received|failed(?: with)?|error):? ` +
      `(?:an? )?` +
      String.raw`[45]\d\d\b(?=$|[,;:)\]}]|\.(?!\d)|\s(?:from|for|on|while|when|error|response|status|after|at|by)\b)`,
    unmasked
  ],
  [String.raw`\bCommand '\[[^\n]{1,500}?\]'`, 'Command <name>'],
  // An HTTP status at the start of a message, or after a word that announces it, but not a quantity.
  [
    String.raw`(?:(?<=^[[(]?)|\b(?:status|http|code|error)["']?(?: ?[:=([#] ?| )["']?)[45]\d\d\b(?![.,:/-]\w| ?%` +
      String.raw`| of \d| ?${UNITS}\b| (?:more )?(?:attempts|bytes|characters|chunks|documents|entries|files|items` +
      '|lines|messages|pages|records|requests|retries|rows|times|tokens|words)\\b)',
    unmasked
  ],
  // Names that only code contains.
  [
    String.raw`\((?:reading|setting|evaluating) '[^'\n]{1,80}'\)|\b(?:has no attribute|object has no (?:field` +
      `|method)|^name|No module named|Cannot find name|unexpected keyword argument` +
      String.raw`|required positional argument:|missing required argument:) ['"][\p{L}_$][\w.$]*['"]` +
      String.raw`|^name '[A-Za-z_]\w*'`,
    unmasked
  ],
  [`^['"][A-Za-z]+(?:_[A-Za-z]+)*['"]$`, unmasked],
  // Members of JSON, and values in quotes.
  [String.raw`\bUnexpected token [^\n]{1,80}?(?= is not valid JSON| in JSON)`, 'Unexpected token <name>'],
  [String.raw`(?<=[{,] ?)["'][\p{L}_][\p{L}_.-]{0,60}["'](?= ?:)`, unmasked],
  [
    String.raw`(?<=["']([\p{L}_][\w.-]{0,60})["'] ?: ?)(?:"((?:[^"\\\n]|\\.){0,2000})"?|'((?:[^'\\\n]|\\.` +
      String.raw`|'(?=\p{L})){0,2000})'?)`,
    memberValue
  ],
  [String.raw`(?<=["']([\p{L}_][\w.-]{0,60})["'] ?: ?)-?[\d.]+(?:e[+-]?\d+)?\b`, memberNumber],
  [
    String.raw`(?<![\p{L}\p{N}'])'((?:[^'\\\n]|\\.|'(?=\p{L}))*)'(?![\p{L}\p{N}])|"((?:[^"\\\n]|\\.)*)"` +
      String.raw`|\x60([^\x60\n]*)\x60|[“„]([^”\n]*)”|‘([^’\n]*)’|«([^»\n]*)»`,
    quotedValue
  ],
  // Named values.
  [String.raw`(?<=\b(?:model|deployment|engine):? )(?=[\w.:\/-]*[-\d])[\w.:\/-]*\w`, '<name>'],
  [String.raw`\binput_value=.{0,500}?(?=, input_type=|\]|$)`, 'input_value=<value>'],
  [
    String.raw`\b(?:code|status|state|reason|type|error|errno|level|severity|kind|op|operation` +
      String.raw`|phase)=[A-Za-z_.-]{2,40}\b(?![-\d])`,
    unmasked
  ],
  [String.raw`\b([A-Za-z_][\w.-]{0,40})=(?!=)(?:\([^)\n]{0,200}\)|\[[^\]\n]{0,200}\]|[^\s,;)\]}'"(]+)`, namedValue],
  [String.raw`\b(?:token|character|char) [^\s\p{L}\p{N}<'"]{1,3}(?= |$)|\btoken [\p{L}\p{N}](?= in\b)`, anyCharacter],
  // Words with digits, and numbers with their units.
  [String.raw`\b[A-Z][A-Za-z]*\d{1,3}[A-Za-z]*(?:Error|Exception|Fault|Timeout)\b`, unmasked],
  [String.raw`[\p{L}\p{N}_]+(?:[-.:#+/=][\p{L}\p{N}_]+)*`, wordOrNumber],
  [String.raw`[#№$€£]\s?(?=\d)`, ''],
  ['<(?=[a-z]+>)', '‹']
]

const ALL = new RegExp(RULES.map(([expression]) => `(${expression})`).join('|'), 'giu')
/** For each rule, the number of its own group in ALL, and the number of groups within the rule. */
const PLACES = (() => {
  let next = 1
  return RULES.map(([expression]) => {
    const inner = new RegExp(`${expression}|`, 'iu').exec('')!.length - 1
    const place = { at: next, inner }
    next += 1 + inner
    return place
  })
})()

function mask(text: string, depth = 0): string {
  return text.replace(ALL, (...found: (string | undefined)[]) => {
    const rule = PLACES.findIndex(({ at }) => found[at] !== undefined)
    const [, outcome] = RULES[rule]!
    const { at, inner } = PLACES[rule]!
    const match = found[0]!
    if (typeof outcome === 'string') return outcome
    const groups = found.slice(at + 1, at + 1 + inner)
    return outcome === quotedValue || outcome === memberValue
      ? nested(outcome(match, groups), depth)
      : outcome(match, groups)
  })
}

/** Marks text in quotes that states a fault itself, and is therefore masked like a message. */
const SAID = '\u0000'
const nested = (outcome: string, depth: number): string =>
  outcome.startsWith(SAID) ? `"${depth < 3 ? mask(outcome.slice(1), depth + 1) : '<text>'}"` : outcome

/** Words of sentences about faults. A quoted sentence without such a word is a value, such as a user's question. */
const FAULT_WORDS =
  /\b(?:abort(?:ed)?|already|cannot|can't|closed|could not|couldn't|denied|disallowed|does not|doesn't|error|exceed(?:ed|s)?|exception|exhausted|expired|fail(?:ed|ure|s)?|forbidden|invalid|limit|malformed|missing|must|not (?:a|allowed|be|exist|found|supported|valid|authori[sz]ed)|overloaded|refused|rejected|required|reset|timed? ?out|too (?:long|large|many)|unable|unauthori[sz]ed|unavailable|unexpected|unknown|unsupported|violates)\b/i

function quotedValue(match: string, groups: readonly (string | undefined)[]): string {
  const inner = groups.find(group => group !== undefined) ?? ''
  if (inner.trim() === '') return match
  return / /.test(inner.trim()) && FAULT_WORDS.test(inner) ? SAID + inner : '<name>'
}

function memberValue(_match: string, [name, double, single]: readonly (string | undefined)[]): string {
  const inner = double ?? single ?? ''
  if (inner === '') return '""'
  if (!SPOKEN.test(name ?? '')) return '<value>'
  return /^\d{1,5}$/.test(inner) ? `"${inner}"` : SAID + inner
}

function memberNumber(match: string, [name]: readonly (string | undefined)[]): string {
  const isCode = /^(?:code|errno|status|status_?code|error_?code)$/i.test(name ?? '') && /^-?\d{1,5}$/.test(match)
  const isHttp = /^(?:error|http_?(?:status|code|status_?code))$/i.test(name ?? '') && /^[45]\d\d$/.test(match)
  return isCode || isHttp ? match : '<number>'
}

function namedValue(_match: string, [name]: readonly (string | undefined)[]): string {
  return `${name}=<value>`
}

function anyCharacter(match: string): string {
  return `${match.slice(0, match.indexOf(' '))} <name>`
}

/** A code after the bare word `code` is part of the fault if it is short or an SQLSTATE. */
function shortCode(match: string): string {
  const code = /-?[0-9A-Z]+$/i.exec(match)![0]
  return code.replace('-', '').length <= 3 || /"|'/.test(match) || code.length === 5
    ? match
    : `${match.slice(0, -code.length)}<number>`
}

function hostOrFile(match: string): string {
  const [host = ''] = match.split(':')
  return new RegExp(`\\.(?:${EXTENSIONS})$`, 'i').test(host) ? '<path>' : '<address>'
}

const NUMBER = new RegExp(
  `^(?:\\d+(?:[._]\\d+)*(?:e[+-]?\\d+)?)(?:-?${UNITS})?(?:\\d+(?:\\.\\d+)?${UNITS})*$|^\\d+(?:[-/]\\d+)+$`,
  'i'
)
/** Names of encodings, protocols and programs, which are the same in each message of a fault. */
const PLAIN =
  /^(?:utf-?(?:8|16|32)|latin-?1|iso-8859-1|cp125\d|base(?:32|64)|sha-?(?:1|256|512)|md5|u?int(?:8|16|32|64)|float(?:16|32|64)|ipv[46]|http\/?[123](?:\.[01])?|h2|s3|ec2|oauth2?|oauth2\.0|tls1?(?:\.[0-3])?|tlsv1(?:\.[0-3])?|x509|python[23]?|v\d|k8s|log4j|e2e|i18n|x86_64|arm64)$/i

function wordOrNumber(match: string): string {
  if (!/\p{N}/u.test(match)) return isRandom(match) ? '<id>' : match
  if (PLAIN.test(match)) return match
  if (NUMBER.test(match)) return '<number>'
  // Words joined by a character that also separates them, such as the last of `limit:5`, are checked one by one.
  const joint = /[:=#]/.exec(match)
  if (joint !== null) {
    const [head, tail] = [match.slice(0, joint.index), match.slice(joint.index + 1)]
    return `${wordOrNumber(head)}${joint[0]}${wordOrNumber(tail)}`
  }
  return '<id>'
}

/**
 * Returns whether a word without digits is an id: a part of it is long, and switches between upper and lower case more
 * often than names that people write.
 */
function isRandom(word: string): boolean {
  return word.split(/[-_.:/+=]/).some(part => {
    if (part.length < 12) return false
    const turns = part.match(/[a-z](?=[A-Z])|[A-Z](?=[A-Z][a-z])/g)?.length ?? 0
    return turns >= part.length / 5 && turns >= 4
  })
}

const PLACEHOLDER = '<(?:id|number|name|path|url|time|address|email|value|text)>'
const REPEATED = new RegExp(`(${PLACEHOLDER})(?:(?:,| and| or|, and|, or|;| \\||\\/| -)? ?\\1)+`, 'g')
const PLURAL =
  /(<number> (?:validation )?(?!(?:does|exceeds|gets|has|is|needs|takes|uses|waits|was)\b)\p{L}{3,}?)(ies|(?<![sui])s)(?!\p{L})/gu

/** Makes lists of values equal regardless of their length, and singular nouns equal to plural nouns. */
function tidy(text: string): string {
  return text
    .replace(/\s+/g, ' ')
    .replace(/[-+]<number>/g, '<number>')
    .replace(/<number> ?%/g, '<number>')
    .replace(/<number>,<number>/g, '<number>')
    .replace(REPEATED, '$1')
    .replace(/\[(<\w+>)\]/g, '$1')
    .replace(PLURAL, (_, before: string, ending: string) => before + (ending === 'ies' ? 'y' : ''))
    .replace(/[\s.…!:;,-]+$/u, '')
    .trim()
}

const shorten = (text: string): string => {
  if (text.length <= MOST_SHOWN) return text
  const cut = text.slice(0, MOST_SHOWN)
  return `${cut.slice(0, Math.max(cut.lastIndexOf(' '), MOST_SHOWN - 40)).trimEnd()}…`
}
