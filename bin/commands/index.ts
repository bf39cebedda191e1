/** All commands, in the order in which the help lists them. */
import type { Commands } from '../command-line.ts'
import * as account from './account.ts'
import audit from './audit.ts'
import compact from './compact.ts'
import completion from './completion.ts'
import config from './config.ts'
import doctor from './doctor.ts'
import * as environment from './environment.ts'
import errors from './history/errors.ts'
import * as session from './history/session.ts'
import * as span from './history/span.ts'
import usage from './history/usage.ts'
import * as key from './key.ts'
import migrate from './migrate.ts'
import backup from './moving/backup.ts'
import exportTraces from './moving/export.ts'
import importTraces from './moving/import.ts'
import restore from './moving/restore.ts'
import upgrade from './moving/upgrade.ts'
import * as price from './price.ts'
import * as project from './project.ts'
import * as retention from './retention.ts'
import * as score from './score.ts'
import serve from './serve.ts'
import status from './status.ts'
import demo from './traces/demo.ts'
import evaluate, { list as listEvaluations } from './traces/evaluate.ts'
import * as read from './traces/read.ts'
import search from './traces/search.ts'
import send from './traces/send.ts'
import * as trace from './traces/trace.ts'
import * as user from './user.ts'
import watch from './watch.ts'
import whoami from './whoami.ts'

export const commands: Commands = {
  serve,
  status,
  doctor,
  config,
  demo,
  migrate,
  audit,
  'account create': account.create,
  'account list': account.list,
  'account rename': account.rename,
  'account delete': account.remove,
  'project create': project.create,
  'project list': project.list,
  'project update': project.update,
  'project delete': project.remove,
  'project recount': project.recount,
  'project isolate': project.isolate,
  'key create': key.create,
  'key list': key.list,
  'key rotate': key.rotate,
  'key revoke': key.revoke,
  'key set-environment': key.setEnvironment,
  'key replace-secret': key.replaceSecret,
  'key whoami': whoami,
  'user add': user.add,
  'user list': user.list,
  'user role': user.role,
  'user remove': user.remove,
  'user link': user.link,
  'user password': user.password,
  'user sign-out': user.signOut,
  'user reset-codes': user.resetCodes,
  'user unlink': user.unlink,
  'trace list': read.traceList,
  'trace show': read.traceShow,
  'trace tail': read.traceTail,
  'trace search': search,
  'trace delete': trace.remove,
  'span list': span.spanList,
  errors,
  watch,
  usage,
  'session list': session.sessionList,
  'session show': session.sessionShow,
  'score list': score.scoreList,
  'score add': score.scoreAdd,
  'retention set': retention.retentionSet,
  'retention unset': retention.retentionUnset,
  'retention list': retention.retentionList,
  'retention run': retention.retentionRun,
  'environment backfill': environment.backfill,
  'price set': price.set,
  'price list': price.listing,
  'price remove': price.removal,
  'price recompute': price.recompute,
  evaluate,
  'evaluate list': listEvaluations,
  export: exportTraces,
  import: importTraces,
  compact,
  backup,
  restore,
  upgrade,
  send,
  completion
}
