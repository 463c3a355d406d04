/** Settings of the log, of health checks and of traces. */
import { z } from 'zod'
import {
  type SettingsOf,
  type SettingsReport,
  setting,
  settings,
  whole,
} from '../settings/setting.ts'
import { toTracingSettings, type tracingKeys } from './tracing-settings.ts'

/** YAML reads the word `off` as false. */
const logLevel = z
  .string()
  .transform((text) => (text.toLowerCase() === 'false' ? 'off' : text.toLowerCase()))
  .pipe(z.enum(['trace', 'debug', 'info', 'warn', 'error', 'fatal', 'off']))
  .transform((level) => (level === 'off' ? ('silent' as const) : level))
  .prefault('info')
  .meta({ type: 'trace, debug, info, warn, error, fatal or off' })

const formats = ['auto', 'json', 'text'] as const

export type LogFormat = (typeof formats)[number]

export const telemetryKeys = settings(
  {
    logLevel: setting('logging.level.root', logLevel).describe('Lowest level that is logged.'),
    logFormat: setting('logging.format', z.enum(formats).default('auto')).describe(
      'Format of the log: `json`, `text` with short lines, or `auto` for text on a terminal and JSON otherwise. NO_COLOR and FORCE_COLOR control colours.',
    ),
    linesWithoutLogin: {
      perCause: setting('logging.withoutLogin.perAddress', whole(0).default(600)).describe(
        'Lines a minute for requests without login of one address (IPv6: of one /64 network). Further ones are counted, and one line has their number. 0: no limit.',
      ),
      total: setting('logging.withoutLogin.total', whole(0).default(6000)).describe(
        'The same for all addresses together. 0: no limit.',
      ),
    },
    healthCheckedServices: setting(
      'healthCheckableServices',
      z
        .array(z.string())
        .default([
          'orca',
          'clouddriver',
          'echo',
          'igor',
          'flex',
          'front50',
          'mahe',
          'mine',
          'keel',
        ]),
    ).describe('Services whose health is checked, if they are enabled.'),
  },
  {
    'logging.level': 'Levels of single Java loggers.',
  },
)

export function toTelemetrySettings(
  values: SettingsOf<typeof telemetryKeys>,
  tracing: SettingsOf<typeof tracingKeys>,
  report: SettingsReport,
) {
  return { ...values, tracing: toTracingSettings(tracing, report) }
}
