/** Switches of an external permission service, read again twice a minute. */

import { sharedWork } from '@fairlead/base/concurrency/shared-work.ts'
import type { FastifyBaseLogger } from 'fastify'

export interface SwitchPositions {
  readonly enabled: boolean
  readonly legacyFallback: boolean
}

interface SwitchOptions {
  positions: SwitchPositions
  reread: () => Promise<SwitchPositions>
  intervalMs?: number
  log: FastifyBaseLogger
}

const everyMs = 30_000

export class PermissionSwitches implements SwitchPositions {
  readonly #options: SwitchOptions
  readonly #timer: NodeJS.Timeout
  enabled: boolean
  legacyFallback: boolean
  #complaint = ''
  /** What cannot be read leaves the switches as they are. One reading at a time: an older one never wins. */
  readonly refresh = sharedWork(() => this.#refresh())

  constructor(options: SwitchOptions) {
    this.#options = options
    this.enabled = options.positions.enabled
    this.legacyFallback = options.positions.legacyFallback
    this.#timer = setInterval(() => void this.refresh(), options.intervalMs ?? everyMs).unref()
  }

  close(): void {
    clearInterval(this.#timer)
  }

  async #refresh(): Promise<void> {
    const { reread, log } = this.#options
    try {
      const { enabled, legacyFallback } = await reread()
      this.#complaint = ''
      if (enabled === this.enabled && legacyFallback === this.legacyFallback) return
      this.enabled = enabled
      this.legacyFallback = legacyFallback
      log.warn({ enabled, legacyFallback }, 'the switches of the permission service were turned')
    } catch (error) {
      const complaint = String((error as Error).message)
      if (complaint === this.#complaint) return
      this.#complaint = complaint
      log.warn(
        { err: error },
        'the configuration cannot be read again; the switches of the permission service stay as they are',
      )
    }
  }
}
