/** Settings of the web console. */
import { z } from 'zod'

export const ConsoleKeys = z.strictObject({
  'console.enabled': z.boolean().default(true).describe('Serve the web console at `/console`. It works beside Deck.'),
})
export type ConsoleKeys = z.infer<typeof ConsoleKeys>

export interface ConsoleSettings {
  readonly enabled: boolean
}

export function toConsoleSettings(keys: ConsoleKeys): ConsoleSettings {
  return { enabled: keys['console.enabled'] }
}
