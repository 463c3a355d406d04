/**
 * Validation of a cron expression for the editor of a trigger.
 *
 * @see docs/contracts/events.md#validation-of-cron-expressions
 */
import { BackendError } from '../../backend.ts'
import { describeCron } from './description.ts'
import { parseCron } from './expression.ts'
import { isSpread, withoutSpread } from './spread.ts'

/** @throws {BackendError} 400 with the expression and what is wrong with it. */
export function validateCron(expression: string): { response: string; description: string } {
  try {
    const cron = parseCron(withoutSpread(expression, ''))
    return {
      response: 'Cron expression is valid',
      description: isSpread(expression) ? 'No description available' : describeCron(cron),
    }
  } catch (error) {
    const shown = expression.length > 200 ? `${expression.slice(0, 200)}…` : expression
    throw new BackendError(400, `Cron expression '${shown}' is not valid: ${(error as Error).message}`)
  }
}
