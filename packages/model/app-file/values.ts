/** Kinds of values in an app file. Examples stand in the JSON schema, and in the errors of wrong values. */

import { readHostPlace } from '@fairlead/base/names/host-name.ts'
import { isTimeZone } from '@fairlead/base/names/time-zone.ts'
import { z } from 'zod'
import { toQuartz } from '../schedules/crontab.ts'

const unitMs = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const
const unitBytes = { Ki: 1024, Mi: 1024 ** 2, Gi: 1024 ** 3, Ti: 1024 ** 4 } as const

/** The result is in milliseconds. */
export function duration(example: string, maxMs = 365 * unitMs.d) {
  return z
    .string({ error: 'it must be a duration' })
    .regex(/^[1-9]\d{0,5}[smhd]$/, 'it must be a duration: a whole number and s, m, h or d')
    .meta({ examples: [example] })
    .transform((text, { addIssue }) => {
      const ms = Number.parseInt(text, 10) * (unitMs[text.at(-1) as keyof typeof unitMs] as number)
      if (ms > maxMs) addIssue(`it must be at most ${formatDuration(maxMs)}`)
      return ms
    })
}

function formatDuration(ms: number): string {
  const [unit, length] = Object.entries(unitMs).findLast(([, each]) => ms % each === 0) as [
    string,
    number,
  ]
  return `${ms / length}${unit}`
}

/** The result is in bytes. */
export function size(example: string) {
  return z
    .string({ error: 'it must be a size' })
    .regex(
      /^[1-9]\d{0,6}(?:Ki|Mi|Gi|Ti)$/,
      'it must be a size: a whole number and Ki, Mi, Gi or Ti',
    )
    .meta({ examples: [example] })
    .transform(
      (text) => Number.parseInt(text, 10) * unitBytes[text.slice(-2) as keyof typeof unitBytes],
    )
}

/** A text by `sh -c "exec ..."`, or a list of words. */
export const command = z
  .union([z.string().regex(/\S/, 'it is empty'), z.array(z.string()).min(1, 'it is empty')], {
    error: 'it must be a command: a text, or a list of texts',
  })
  .meta({ examples: ['node server.js', ['node', 'server.js']] })
export type Command = string | readonly string[]

export const names = {
  application: /^[a-z][a-z0-9]{0,49}$/,
  service: /^[a-z][a-z0-9-]{0,28}[a-z0-9]$|^[a-z]$/,
  environment: /^[a-z][a-z0-9]{0,29}$/,
  variable: /^[A-Za-z_][A-Za-z0-9_]{0,254}$/,
  secret: /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,252}$/,
  attachment: /^[a-z][a-z0-9]{0,29}$/,
  volume: /^[a-z][a-z0-9-]{0,29}$/,
  alias: /^[a-z][a-z0-9-]{0,29}$/,
} as const

export const text = z.string().min(1, 'it is empty')

export function named(kind: keyof typeof names, form: string) {
  return z.string().regex(names[kind], `it must be ${form}`)
}

/** A path below the folder of the app. */
export const folderPath = text
  .refine(
    (path) => !path.startsWith('/') && !path.split(/[/\\]/).includes('..'),
    'it must be a path within the folder',
  )
  .transform((path) => path.replace(/^(?:\.\/)+|(?<!\/)\/+$/g, '') || '.')

export const absolutePath = z
  .string()
  .regex(/^\/(?!.*(?:^|\/)\.\.(?:\/|$))/, 'it must be an absolute path, without ".."')
  .meta({ examples: ['/healthz'] })

/** The result is the canonical host and path: `SHOP.example/` is `shop.example`. */
export const hostPlace = z
  .string({ error: 'it must be the name of a host' })
  .meta({ examples: ['shop.example', 'shop.example/api'] })
  .transform((given, { addIssue }) => {
    const place = readHostPlace(given)
    if (typeof place === 'string') {
      addIssue(`"${given}" ${place}`)
      return z.NEVER
    }
    return place.path === '/' ? place.host : place.host + place.path
  })

/** Five fields; the result is what was written. */
export const crontab = z
  .string({ error: 'it must be a cron expression of 5 fields' })
  .meta({ examples: ['0 3 * * *'], pattern: '^\\s*(@[a-z]+|\\S+(\\s+\\S+){4})\\s*$' })
  .superRefine((given, { addIssue }) => {
    try {
      toQuartz(given)
    } catch (error) {
      addIssue(
        `it is no cron expression of 5 fields. ${(error as Error).message.replace(/\.$/, '')}`,
      )
    }
  })

export const timeZone = z
  .string()
  .meta({ examples: ['Europe/Berlin'] })
  .refine(isTimeZone, 'it must be the name of a time zone')

/** Numbers and words such as true stand for their text. */
export const plainText = z
  .union([z.string(), z.number(), z.boolean()], { error: 'it must be a text' })
  .transform(String)

/** Percent of the traffic or of the instances. */
export const percent = z
  .string({ error: 'it must be a percentage' })
  .regex(/^(?:[1-9]|[1-4]\d|50)%$/, 'it must be a percentage from 1% to 50%')
  .meta({ examples: ['10%'] })
  .transform((given) => Number.parseInt(given, 10))
