/** Moments in requests. */

import { GatewayError } from '@fairlead/base/errors.ts'
import { z } from 'zod'

const moment = z.iso.datetime({ offset: true })

export function parseMoment(name: string, text: string | null | undefined): number | undefined {
  if (text === undefined || text === null || text.trim() === '') return undefined
  const parsed = moment.safeParse(text).success ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(parsed)) return parsed
  throw new GatewayError(
    'BAD_ARGUMENT',
    `"${name}" must be a moment with time zone, such as 2030-01-31T12:00:00Z.`,
  )
}
