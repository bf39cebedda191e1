/** Routes that show owners the audit log of their account, as pages and as a file of JSON lines. */
import Type from 'typebox'
import { describeEntry } from '../../lib/admin/audit.ts'
import type { App } from '../../lib/app.ts'
import { Content } from '../../lib/http/route.ts'
import { closed } from '../../lib/schema/object.ts'
import { AUDIT_GROUPS, readAuditPage } from '../../lib/store/account-audit.ts'
import { IN_PROJECT, pageRoute } from './page-routes.ts'
import { AuditReply, contentReply } from './replies.ts'

const PAGE_ENTRIES = 100
const FILE_ENTRIES = 10_000
const NDJSON = 'application/x-ndjson'

/** `before` is the id of an entry; only older entries are returned. */
const AuditQuery = closed({
  group: Type.Optional(Type.Enum([...AUDIT_GROUPS])),
  before: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER }))
})

export default function audit(app: App): void {
  const { sql } = app

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/audit`,
    access: 'owner',
    query: AuditQuery,
    replies: { 200: AuditReply },
    async handler(request) {
      const { group, before } = request.query
      const { accountId } = request.project
      const wanted = { accountId, group, before, limit: PAGE_ENTRIES + 1 }
      const rows = (await sql.read(each => readAuditPage(each, wanted), request)).map(describeEntry)
      const entries = rows.slice(0, PAGE_ENTRIES)
      const next = rows.length > PAGE_ENTRIES ? (entries.at(-1)?.id ?? null) : null
      return { body: { entries, next, views: app.config.auditViews } }
    }
  })

  pageRoute(app, {
    method: 'GET',
    path: `${IN_PROJECT}/audit-file`,
    access: 'owner',
    query: AuditQuery,
    replies: { 200: contentReply(NDJSON) },
    async handler(request) {
      const { group, before } = request.query
      const { accountId } = request.project
      const wanted = { accountId, group, before, limit: FILE_ENTRIES }
      const rows = await sql.read(each => readAuditPage(each, wanted), request)
      const lines = rows.map(row => `${JSON.stringify(describeEntry(row))}\n`)
      const name = `spoor-${request.params.slug}-audit-${new Date().toISOString().slice(0, 10)}.ndjson`
      const headers = { 'Content-Disposition': `attachment; filename="${name}"` }
      return { headers, body: new Content(NDJSON, lines.join('')) }
    }
  })
}
