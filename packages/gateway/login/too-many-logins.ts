/** The error of logins that wait for a thread in too long a queue. */
import { GatewayError } from '@fairlead/base/errors.ts'

export function tooManyLogins(cause: Error): GatewayError {
  return new GatewayError('RATE_LIMITED', 'Too many logins at once. Try again in a moment.', {
    cause,
    headers: { 'retry-after': '5' },
  })
}
