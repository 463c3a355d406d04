/** The audit log, for administrators: who did what, who logged in, and what was refused. */
import { z } from 'zod'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { AuditPage, AuditRecord } from '../../audit/event.ts'
import { GatewayError } from '../../errors.ts'
import { adminOnly } from '../demands.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'
import { text } from '../schemas.ts'

const kinds = ['change', 'read', 'refusal', 'login', 'logout', 'token', 'audit'] as const
const decisions = ['begun', 'allowed', 'refused', 'failed', 'interrupted'] as const

const AuditedEvent = z
  .looseObject({
    sequence: z.int().describe('Counts from 1, without gaps.'),
    at: z.string().describe('ISO 8601, UTC.'),
    kind: z.enum(kinds),
    decision: z.enum(decisions),
    user: text.optional(),
    login: text.optional().describe('How the user has logged in.'),
    token: text.optional().describe('Id of the API token.'),
    address: text.optional(),
    requestId: text.optional(),
    method: text.optional(),
    operation: text.optional().describe('Id of the operation.'),
    application: text.optional(),
    resource: z.record(z.string(), z.string()).optional().describe('What it is about: names and ids.'),
    status: z.int().optional().describe('Of the answer.'),
    error: text.optional().describe('Code of the error.'),
    reason: text.optional().describe('Why credentials were refused.'),
    upstream: z.array(z.looseObject({ service: text, status: z.int().optional() })).optional(),
    change: text.optional().describe('Joins `begun` with how it ended.'),
    repeated: z.int().optional().describe('How many more like the one before there were.'),
    lost: z.int().optional().describe('Events that could not be written.'),
    previous: text.describe('Hash of the event before.'),
    hash: text,
  })
  .meta({ id: 'AuditEvent' })

const AuditEvents = z
  .object({
    events: z.array(AuditedEvent).describe('The newest first.'),
    next: text.optional().describe('`cursor` of the next page; absent on the last.'),
  })
  .meta({ id: 'AuditEvents' })

const maxLimit = 1000

export const auditOperations: Operation[] = [
  {
    id: 'listAuditEventsUsingGET',
    method: 'GET',
    path: '/audit/events',
    demands: adminOnly,
    summary: 'List audit events',
    description: 'What the audit log holds: changes, logins and refusals. For administrators.',
    query: {
      kind: z.enum(kinds).optional(),
      user: text.optional(),
      address: text.optional(),
      operation: text.optional().describe('Id of the operation.'),
      application: text.optional(),
      decision: z.enum(decisions).optional(),
      from: text.optional().describe('ISO 8601 with time zone; included.'),
      to: text.optional().describe('ISO 8601 with time zone; not included.'),
      limit: z.int().min(1).max(maxLimit).default(100),
      cursor: text.optional().describe('`next` of the page before.'),
    },
    handle: listEvents,
    answer: AuditEvents,
    errors: { 403: 'The caller is no administrator.', 404: 'Nothing is recorded, or not where it can be read back.' },
  },
]

async function listEvents(request: OperationRequest, platform: Platform): Promise<{ events: AuditRecord[]; next?: string }> {
  const { query } = request
  const named = (name: string) => query[name] as string | undefined
  const { records, next } = await search(auditOf(platform), {
    kind: named('kind'),
    user: named('user'),
    address: named('address'),
    operation: named('operation'),
    application: named('application'),
    decision: named('decision'),
    fromMs: parseMoment('from', named('from')),
    toMs: parseMoment('to', named('to')),
    before: parseCursor(named('cursor')),
    limit: query['limit'] as number,
  })
  return { events: records, ...(next !== undefined && { next: String(next) }) }
}

/** @throws {GatewayError} NOT_FOUND */
function auditOf({ audit }: Platform): AuditLog {
  if (audit === undefined)
    throw new GatewayError('NOT_FOUND', 'Nothing is recorded here. An operator may set audit.enabled: true.')
  if (audit.isSearchable) return audit
  throw new GatewayError('NOT_FOUND', 'The audit log goes to standard output. Search where that is collected.')
}

/** @throws {GatewayError} AUDIT_UNAVAILABLE */
async function search(audit: AuditLog, query: Parameters<AuditLog['find']>[0]): Promise<AuditPage> {
  try {
    return await audit.find(query)
  } catch (cause) {
    throw new GatewayError('AUDIT_UNAVAILABLE', 'The audit log cannot be read at present. Try again later.', { cause })
  }
}

/** @throws {GatewayError} BAD_ARGUMENT */
function parseMoment(name: string, moment: string | undefined): number | undefined {
  if (moment === undefined) return undefined
  const parsed = z.iso.datetime({ offset: true }).safeParse(moment).success ? Date.parse(moment) : Number.NaN
  if (!Number.isNaN(parsed)) return parsed
  throw new GatewayError('BAD_ARGUMENT', `"${name}" must be a moment with time zone, such as 2030-01-31T12:00:00Z.`)
}

/** @throws {GatewayError} BAD_ARGUMENT */
function parseCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new GatewayError('BAD_ARGUMENT', '"cursor" must be the "next" of the page before.')
}
