/** Request shedding: rejects low-priority requests before any work. */
import { GatewayError } from '../errors.ts'
import type { RequestStep } from './request-state.ts'

export interface SheddingSettings {
  enabled: boolean
  paths: readonly RegExp[]
  chancePercent: number
}

interface SheddingSurroundings {
  now?: () => number
  random?: () => number
}

const retryAfterMs = 60_000

/**
 * Refuses requests of low priority: those without the header `X-Spinnaker-Priority`, or with `low` in it.
 *
 * @see docs/contracts/http.md#request-shedding
 */
export function shedRequests(settings: SheddingSettings, surroundings: SheddingSurroundings = {}): RequestStep {
  const { now = Date.now, random = Math.random } = surroundings
  return {
    name: 'shedRequests',
    run({ method, headers, state }) {
      if (!settings.enabled || method === 'OPTIONS' || state.path === '/error') return
      const priority = headers['x-spinnaker-priority'] ?? 'low'
      if (priority !== 'low' || !settings.paths.some((path) => path.test(state.path))) return
      if (random() * 100 >= settings.chancePercent) return
      throw new GatewayError(
        'REQUEST_SHED',
        'Requests of low priority are refused at the moment. Try again in a minute, or send X-Spinnaker-Priority with another value.',
        { headers: { 'retry-after': new Date(now() + retryAfterMs).toUTCString() } },
      )
    },
  }
}
