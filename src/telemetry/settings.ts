/** Settings of the log, of health checks and of traces. */
import { z } from 'zod'
import { type SettingsReport, withoutEffect } from '../setting.ts'
import { TracingKeys, toTracingSettings } from './tracing-settings.ts'

const levels = {
  trace: 'trace',
  debug: 'debug',
  info: 'info',
  warn: 'warn',
  error: 'error',
  fatal: 'fatal',
  off: 'silent',
} as const

const formats = ['auto', 'json', 'text'] as const

export type LogFormat = (typeof formats)[number]

export const TelemetryKeys = z.strictObject({
  'logging.level.root': z
    .string()
    .transform((text) => (text.toLowerCase() === 'false' ? 'off' : text.toLowerCase()))
    .pipe(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'off']))
    .prefault('info')
    .meta({
      description: 'Lowest level that is logged.',
      type: 'trace, debug, info, warn, error, fatal or off',
    }),
  'logging.format': z
    .enum(formats)
    .default('auto')
    .describe(
      'Format of the log: `json`, `text` with short lines, or `auto` for text on a terminal and JSON otherwise. NO_COLOR and FORCE_COLOR control colours.',
    ),
  'logging.withoutLogin.perAddress': z
    .int()
    .min(0)
    .default(600)
    .describe(
      'Lines a minute for requests without login of one address (IPv6: of one /64 network). Further ones are counted, and one line has their number. 0: no limit.',
    ),
  'logging.withoutLogin.total': z.int().min(0).default(6000).describe('The same for all addresses together. 0: no limit.'),
  'logging.level': withoutEffect('Levels of single Java loggers.'),
  healthCheckableServices: z
    .array(z.string())
    .default(['orca', 'clouddriver', 'echo', 'igor', 'flex', 'front50', 'mahe', 'mine', 'keel'])
    .describe('Services whose health is checked, if they are enabled.'),
  ...TracingKeys.shape,
})
export type TelemetryKeys = z.infer<typeof TelemetryKeys>

export type TelemetrySettings = ReturnType<typeof toTelemetrySettings>

export function toTelemetrySettings(keys: TelemetryKeys, report: SettingsReport) {
  return {
    logLevel: levels[keys['logging.level.root']],
    logFormat: keys['logging.format'],
    linesWithoutLogin: { perCause: keys['logging.withoutLogin.perAddress'], total: keys['logging.withoutLogin.total'] },
    healthCheckedServices: keys['healthCheckableServices'],
    tracing: toTracingSettings(keys, report),
  }
}
