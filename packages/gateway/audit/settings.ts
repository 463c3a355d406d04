/** Settings of the audit log. */
import { join, resolve } from 'node:path'
import {
  off,
  on,
  optionalText,
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
  word,
} from '@fairlead/base/settings/setting.ts'

export const auditKeys = settings({
  enabled: setting('audit.enabled', on).describe(
    'Whether changes, logins and refusals are recorded.',
  ),
  sink: setting(
    'audit.sink',
    word(['sqlite', 'file', 'stdout', 'redis']).prefault('sqlite'),
  ).describe(
    'Destination: `audit.db` in the data directory, files, or standard output. `redis` has no effect and means `sqlite`.',
  ),
  required: setting('audit.required', off).describe(
    'Whether changes and logins are rejected with 503 while the log cannot be written. A change then has two records.',
  ),
  reads: setting('audit.reads', off).describe('Whether reads of users are recorded, too.'),
  retentionDays: setting('audit.retentionDays', whole(0, 36_500).default(90)).describe(
    'Days until records are deleted; 0 keeps them.',
  ),
  file: setting('audit.file', optionalText).describe(
    'With `audit.sink: file`: the current file. Default: `audit/audit.log` in the data directory.',
  ),
  fileMegabytes: setting('audit.fileMegabytes', whole(1, 10_000).default(100)).describe(
    'Size at which a new file begins.',
  ),
  maxMegabytes: setting('audit.maxMegabytes', whole(1, 10_000_000).optional()).describe(
    'Size of the whole log at which its oldest records are deleted. Default: only their age matters.',
  ),
  fileHours: setting('audit.fileHours', whole(1, 8784).default(24)).describe(
    'Age at which a new file begins.',
  ),
})
type AuditValues = SettingsOf<typeof auditKeys>
type SinkValues = Pick<AuditValues, 'sink' | 'file' | 'fileMegabytes' | 'fileHours'>
type SizeValues = Pick<AuditValues, 'sink' | 'maxMegabytes' | 'fileMegabytes'>

const dayMs = 86_400_000

export type SinkSettings =
  | { kind: 'sqlite'; file: string }
  | { kind: 'file'; file: string; maxBytes: number; maxAgeMs: number }
  | { kind: 'stdout' }

export type AuditSettings = NonNullable<ReturnType<typeof toAuditSettings>>

export function toAuditSettings(
  { enabled, required, reads, retentionDays, ...values }: AuditValues,
  report: SettingsReport,
  { dataDir, cwd }: { dataDir: string; cwd: string },
) {
  if (!enabled) {
    if (required) report.problem('audit.required', 'needs audit.enabled: true')
    return undefined
  }
  if (values.sink === 'redis') {
    report.notice(
      'audit.sink: redis has no effect: this gateway writes audit.db in its data directory. For one log of several gateways, ' +
        'set audit.sink: stdout and collect their output.',
    )
  }
  return {
    sink: toSink(values, dataDir, cwd),
    required,
    reads,
    retentionMs: retentionDays === 0 ? undefined : retentionDays * dayMs,
    maxBytes: toMaxBytes(values, report),
  }
}

function toMaxBytes(
  { sink, maxMegabytes, fileMegabytes }: SizeValues,
  report: SettingsReport,
): number | undefined {
  if (maxMegabytes === undefined) return undefined
  if (sink === 'stdout') report.problem('audit.maxMegabytes', 'standard output is kept elsewhere')
  if (sink === 'file' && maxMegabytes < 2 * fileMegabytes) {
    report.problem(
      'audit.maxMegabytes',
      'must be twice audit.fileMegabytes or more, since whole files are removed',
    )
  }
  return maxMegabytes * 1_000_000
}

function toSink({ sink: kind, ...values }: SinkValues, dataDir: string, cwd: string): SinkSettings {
  if (kind === 'sqlite' || kind === 'redis')
    return { kind: 'sqlite', file: join(dataDir, 'audit.db') }
  if (kind === 'stdout') return { kind }
  return {
    kind,
    file:
      values.file === undefined ? join(dataDir, 'audit', 'audit.log') : resolve(cwd, values.file),
    maxBytes: values.fileMegabytes * 1_000_000,
    maxAgeMs: values.fileHours * 3_600_000,
  }
}
