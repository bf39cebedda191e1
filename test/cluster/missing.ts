/** Determines from the output of a failed Citus build what the machine lacks. */

/** Debian packages, by the names that a compiler or linker reports as missing. */
const PACKAGES: readonly (readonly [RegExp, string])[] = [
  [/^postgres(?:_fe)?\.h$|^libpq-fe\.h$/, 'postgresql-server-dev-15'],
  [/zstd/, 'libzstd-dev'],
  [/lz4/, 'liblz4-dev'],
  [/^openssl\/|^ssl$|^crypto$/, 'libssl-dev'],
  [/gssapi|krb5/, 'libkrb5-dev'],
  [/^unicode\/|^icu/, 'libicu-dev'],
  [/readline/, 'libreadline-dev'],
  [/^libxml|^xml2$/, 'libxml2-dev'],
  [/xslt/, 'libxslt1-dev'],
  [/^security\/|^pam$/, 'libpam0g-dev'],
  [/^selinux/, 'libselinux1-dev'],
  [/^autoreconf$/, 'autoconf'],
  [/^(?:flex|bison|make|gcc)$/, '$&']
]

/** Each expression captures the name of what is missing. */
const COMPLAINTS = [
  /fatal error: (\S+): No such file or directory/g,
  /cannot find -l:?(\w+)/g,
  /(?:^|[\s:])([\w-]+): (?:command )?not found/gm,
  /^configure: error: (?:.*\bno acceptable )?(\S+) (?:library |header )?not found/gm
]

/** Returns a sentence that names the missing packages; undefined if the output names nothing. */
export function describeMissing(output: string): string | undefined {
  const missing = new Set(COMPLAINTS.flatMap(each => [...output.matchAll(each)].map(([, name]) => name as string)))
  if (missing.size === 0) return undefined
  return `${[...missing].map(describe).join(', ')} ${missing.size === 1 ? 'is' : 'are'} missing`
}

function describe(name: string): string {
  const found = PACKAGES.find(([pattern]) => pattern.test(name))
  return found === undefined ? name : `${name} (Debian: ${found[1].replace('$&', name)})`
}
