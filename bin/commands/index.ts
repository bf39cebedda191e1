/** All commands, in the order in which the help lists them. */
import type { Commands } from '../command-line.ts'
import * as account from './account.ts'
import completion from './completion.ts'
import demo from './demo.ts'
import * as environment from './environment.ts'
import exportTraces from './export.ts'
import importTraces from './import.ts'
import * as key from './key.ts'
import migrate from './migrate.ts'
import * as project from './project.ts'
import serve from './serve.ts'
import status from './status.ts'

export const commands: Commands = {
  serve,
  status,
  demo,
  migrate,
  'account create': account.create,
  'account list': account.list,
  'project create': project.create,
  'project list': project.list,
  'project recount': project.recount,
  'key create': key.create,
  'key list': key.list,
  'key rotate': key.rotate,
  'key revoke': key.revoke,
  'key set-environment': key.setEnvironment,
  'key replace-secret': key.replaceSecret,
  'environment backfill': environment.backfill,
  export: exportTraces,
  import: importTraces,
  completion
}
