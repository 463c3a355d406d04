/** The audit log, for administrators: who did what, who logged in, and what was refused. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { alike, maybeText, model, textModel } from '@fairlead/base/json/schemas.ts'
import { z } from 'zod'
import type { AuditLog } from '../../audit/audit-log.ts'
import type { AuditRecord } from '../../audit/event.ts'
import { get } from '../declare.ts'
import { adminOnly } from '../demands.ts'
import { parseMoment } from '../moment.ts'
import type { Operation, OperationRequest } from '../operation.ts'
import type { Platform } from '../platform.ts'

const kinds = ['change', 'read', 'refusal', 'login', 'logout', 'token', 'audit'] as const
const decisions = ['begun', 'allowed', 'refused', 'failed', 'interrupted'] as const

const AuditedEvent = model('AuditEvent', {
  sequence: z.int().describe('Counts from 1, without gaps.'),
  at: z.string().describe('ISO 8601, UTC.'),
  kind: z.enum(kinds),
  decision: z.enum(decisions),
  ...alike(maybeText, 'user', 'address', 'requestId', 'method', 'application'),
  login: maybeText.describe('How the user has logged in.'),
  token: maybeText.describe('Id of the API token.'),
  operation: maybeText.describe('Id of the operation.'),
  resource: z
    .record(z.string(), z.string())
    .optional()
    .describe('What it is about: names and ids.'),
  status: z.int().optional().describe('Of the answer.'),
  error: maybeText.describe('Code of the error.'),
  reason: maybeText.describe('Why credentials were refused, or which right the user lacks.'),
  upstream: z.array(z.looseObject({ service: textModel, status: z.int().optional() })).optional(),
  change: maybeText.describe('Joins `begun` with how it ended.'),
  repeated: z.int().optional().describe('How many more like the one before there were.'),
  lost: z.int().optional().describe('Events that could not be written.'),
  previous: textModel.describe('Hash of the event before.'),
  hash: textModel,
})

const AuditEvents = z
  .object({
    events: z.array(AuditedEvent).describe('The newest first.'),
    next: maybeText.describe('`cursor` of the next page; absent on the last.'),
  })
  .meta({ id: 'AuditEvents' })

const RecordHash = z
  .string()
  .regex(/^[0-9a-f]{64}$/, 'must be the hash of a record: 64 hexadecimal digits')

const AuditVerification = z
  .object({
    sound: z
      .boolean()
      .describe(
        'Whether every record is as it was written, none is missing, and the expected one is there.',
      ),
    records: z.int(),
    first: z
      .int()
      .optional()
      .describe('Sequence of the first record; above 1 where older ones have been removed.'),
    last: z
      .object({ sequence: z.int(), hash: textModel })
      .optional()
      .describe('The newest record.'),
    lost: z.int().describe('Events that could not be written, as the records say themselves.'),
    breaks: z.array(z.object({ line: z.int(), problem: textModel })).describe('The first twenty.'),
    hasExpected: z
      .boolean()
      .describe('Whether the expected record is there; true where none is expected.'),
  })
  .meta({ id: 'AuditVerification' })

const maxLimit = 1000
const refusals = {
  403: 'The caller is no administrator.',
  404: 'Nothing is recorded, or not where it can be read back.',
}

export const auditOperations: Operation[] = [
  get('listAuditEventsUsingGET', '/audit/events', 'List audit events', {
    demands: adminOnly,
    description: 'Records of the audit log: changes, logins and refusals. For administrators.',
    query: {
      kind: z.enum(kinds).optional(),
      user: maybeText,
      address: maybeText,
      operation: maybeText.describe('Id of the operation.'),
      application: maybeText.describe('In any spelling.'),
      decision: z.enum(decisions).optional(),
      from: maybeText.describe('ISO 8601 with time zone; included.'),
      to: maybeText.describe('ISO 8601 with time zone; not included.'),
      limit: z.int().min(1).max(maxLimit).default(100),
      cursor: maybeText.describe('`next` of the page before.'),
    },
    handle: listEvents,
    answer: AuditEvents,
    errors: refusals,
  }),
  get('verifyAuditLogUsingGET', '/audit/verification', 'Verify the audit log', {
    demands: adminOnly,
    description:
      'Whether every record is unaltered and none is missing between the first and the last, as `fairlead audit verify` reports it. Keep the hash of the last record elsewhere: it shows later whether the newest records were removed.',
    query: { expect: RecordHash.optional().describe('Hash of a record that must still be there.') },
    cost: 10,
    handle: verifyLog,
    answer: AuditVerification,
    errors: refusals,
  }),
]

async function listEvents(
  { query }: OperationRequest,
  platform: Platform,
): Promise<{ events: AuditRecord[]; next?: string }> {
  const audit = auditOf(platform)
  const { from, to, cursor, limit, ...texts } = query
  const wanted = {
    ...(texts as Partial<
      Record<'kind' | 'user' | 'address' | 'operation' | 'application' | 'decision', string>
    >),
    fromMs: parseMoment('from', from as string | undefined),
    toMs: parseMoment('to', to as string | undefined),
    before: parseCursor(cursor as string | undefined),
    limit: limit as number,
  }
  const { records, next } = await reading(() => audit.find(wanted))
  return { events: records, ...(next !== undefined && { next: String(next) }) }
}

async function verifyLog(
  { query }: OperationRequest,
  platform: Platform,
): Promise<z.infer<typeof AuditVerification>> {
  const audit = auditOf(platform)
  const verification = await reading(() => audit.verify(query['expect'] as string | undefined))
  const { records, first, last, lost, breaks, hasExpected } = verification
  return {
    sound: breaks.length === 0 && hasExpected,
    records,
    first,
    last,
    lost,
    breaks: [...breaks],
    hasExpected,
  }
}

function auditOf({ audit }: Platform): AuditLog {
  if (audit === undefined)
    throw new GatewayError(
      'NOT_FOUND',
      'Nothing is recorded here. An operator may set audit.enabled: true.',
    )
  if (audit.isSearchable) return audit
  throw new GatewayError(
    'NOT_FOUND',
    'The audit log goes to standard output. Search where that is collected.',
  )
}

async function reading<T>(read: () => Promise<T>): Promise<T> {
  try {
    return await read()
  } catch (cause) {
    throw new GatewayError(
      'AUDIT_UNAVAILABLE',
      'The audit log cannot be read at present. Try again later.',
      { cause },
    )
  }
}

function parseCursor(cursor: string | undefined): number | undefined {
  if (cursor === undefined) return undefined
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  throw new GatewayError('BAD_ARGUMENT', '"cursor" must be the "next" of the page before.')
}
