/** 503: the permission service is unavailable. */
import { GatewayError } from '../errors.ts'

const message =
  'The permission service does not answer, so your permissions are unknown. You stay logged in; try again in a moment.'

export function permissionsUnavailable(cause: unknown): GatewayError {
  return new GatewayError('PERMISSIONS_UNAVAILABLE', message, {
    cause,
    upstream: { service: 'fiat' },
    headers: { 'retry-after': '2' },
  })
}
