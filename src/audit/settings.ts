/** Settings of the audit log. */
import { join, resolve } from 'node:path'
import { z } from 'zod'
import type { SettingsReport } from '../setting.ts'

export const AuditKeys = z.strictObject({
  'audit.enabled': z.boolean().default(true).describe('Whether changes, logins and refusals are recorded.'),
  'audit.sink': z
    .string()
    .transform((text) => text.toLowerCase())
    .pipe(z.enum(['sqlite', 'file', 'stdout', 'redis']))
    .prefault('sqlite')
    .meta({
      description:
        'Destination: `audit.db` in the data directory, files, standard output, or a stream of the Redis that `redis.connection` names.',
      type: 'sqlite, file, stdout or redis',
    }),
  'audit.required': z
    .boolean()
    .default(false)
    .describe('Whether changes and logins are rejected with 503 while the log cannot be written. A change then has two records.'),
  'audit.reads': z.boolean().default(false).describe('Whether reads of users are recorded, too.'),
  'audit.retentionDays': z.int().min(0).max(36_500).default(90).describe('Days until records are deleted; 0 keeps them.'),
  'audit.file': z
    .string()
    .min(1)
    .optional()
    .describe('With `audit.sink: file`: the current file. Default: `audit/audit.log` in the data directory.'),
  'audit.fileMegabytes': z.int().min(1).max(10_000).default(100).describe('Size at which a new file begins.'),
  'audit.maxMegabytes': z
    .int()
    .min(1)
    .max(10_000_000)
    .optional()
    .describe('Size of the whole log at which its oldest records are deleted. Default: only their age matters.'),
  'audit.fileHours': z.int().min(1).max(8784).default(24).describe('Age at which a new file begins.'),
})
export type AuditKeys = z.infer<typeof AuditKeys>

const dayMs = 86_400_000

export type SinkSettings =
  | { kind: 'sqlite'; file: string }
  | { kind: 'file'; file: string; maxBytes: number; maxAgeMs: number }
  | { kind: 'stdout' }
  | { kind: 'redis' }

export type AuditSettings = NonNullable<ReturnType<typeof toAuditSettings>>

/** Undefined when nothing is recorded. */
export function toAuditSettings(
  keys: AuditKeys,
  report: SettingsReport,
  { dataDir, cwd, sharesRedis }: { dataDir: string; cwd: string; sharesRedis: boolean },
) {
  if (!keys['audit.enabled']) {
    if (keys['audit.required']) report.problem('audit.required', 'needs audit.enabled: true')
    return undefined
  }
  if (keys['audit.sink'] === 'redis' && !sharesRedis) report.problem('audit.sink', 'redis needs redis.connection')
  const days = keys['audit.retentionDays']
  return {
    sink: toSink(keys, dataDir, cwd),
    required: keys['audit.required'],
    reads: keys['audit.reads'],
    /** Undefined: for ever. */
    retentionMs: days === 0 ? undefined : days * dayMs,
    maxBytes: toMaxBytes(keys, report),
  }
}

function toMaxBytes(keys: AuditKeys, report: SettingsReport): number | undefined {
  const megabytes = keys['audit.maxMegabytes']
  if (megabytes === undefined) return undefined
  if (keys['audit.sink'] === 'stdout') report.problem('audit.maxMegabytes', 'standard output is kept elsewhere')
  if (keys['audit.sink'] === 'file' && megabytes < 2 * keys['audit.fileMegabytes']) {
    report.problem('audit.maxMegabytes', 'must be twice audit.fileMegabytes or more, since whole files are removed')
  }
  return megabytes * 1_000_000
}

function toSink(keys: AuditKeys, dataDir: string, cwd: string): SinkSettings {
  const kind = keys['audit.sink']
  if (kind === 'sqlite') return { kind, file: join(dataDir, 'audit.db') }
  if (kind !== 'file') return { kind }
  const named = keys['audit.file']
  return {
    kind,
    file: named === undefined ? join(dataDir, 'audit', 'audit.log') : resolve(cwd, named),
    maxBytes: keys['audit.fileMegabytes'] * 1_000_000,
    maxAgeMs: keys['audit.fileHours'] * 3_600_000,
  }
}
