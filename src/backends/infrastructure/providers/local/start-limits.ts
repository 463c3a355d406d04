/** How long and how often the instances of a server group may try to start before a deployment fails. */
import { z } from 'zod'

export const StartLimits = z.strictObject({
  seconds: z.number().min(1).max(86_400).describe('Seconds within which the instances have to be up.'),
  failures: z
    .int()
    .min(1)
    .max(1000)
    .describe('Failed starts of an instance in a row: its program cannot start, or ends within a minute.'),
})
export type StartLimits = z.infer<typeof StartLimits>

export const usualStartLimits: StartLimits = { seconds: 600, failures: 5 }
