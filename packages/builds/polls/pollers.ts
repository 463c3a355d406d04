/** Polls of all build servers: each at its own pace, so that none waits for another. */

import { PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { BuildServer } from '../build-server.ts'
import type { BuildServiceSettings } from '../settings.ts'
import { PollMemory } from './memory.ts'
import { ServerPoller } from './server-poller.ts'

export class BuildPollers {
  readonly #context: BackendContext
  readonly #pollers: readonly ServerPoller[]
  readonly #memory: PollMemory

  constructor(context: BackendContext, servers: ReadonlyMap<string, BuildServer>) {
    this.#context = context
    const memory = new PollMemory(context.db, context.now)
    const settings = context.settings.builds
    this.#memory = memory
    this.#pollers = servers
      .values()
      .map(
        (server) => new ServerPoller({ server, context, memory, rules: toRules(server, settings) }),
      )
      .toArray()
  }

  start(): void {
    this.#memory.prune()
    for (const poller of this.#pollers) poller.start()
  }

  /**
   * Skips the finished builds of the servers of one kind.
   *
   * @param monitor Name of the kind's poller, such as `jenkinsBuildMonitor`
   * @param partition One of its servers; empty: all
   * @throws {PortError} 404
   */
  async fastForward(monitor: string, partition: string): Promise<void> {
    const ofKind = this.#pollers.filter(
      ({ server }) => monitorOf(server).toLowerCase() === monitor.toLowerCase(),
    )
    const known = [...new Set(this.#pollers.map(({ server }) => monitorOf(server)))]
    if (ofKind.length === 0) {
      const advice =
        known.length === 0 ? 'no build server is polled.' : `use one of ${known.join(', ')}.`
      throw new PortError(404, `The monitor "${monitor}" does not exist: ${advice}`)
    }
    const chosen = ofKind.filter(({ server }) => partition === '' || server.name === partition)
    if (chosen.length === 0)
      throw new PortError(404, `The build server "${partition}" is not polled by "${monitor}".`)
    await Promise.all(chosen.map((poller) => poller.fastForward()))
    this.#context.log.info(
      { monitor, partition },
      'an administrator skipped the finished builds of build servers',
    )
  }

  async close(): Promise<void> {
    await Promise.all(this.#pollers.map((poller) => poller.close()))
  }
}

function toRules({ pollMs, maxChanges }: BuildServer, settings: BuildServiceSettings) {
  const ownPollMs = pollMs ?? settings.pollSeconds * 1000
  return {
    pollMs: ownPollMs,
    maxChanges: maxChanges ?? settings.maxChanges,
    handlesFirstBuilds: settings.handlesFirstBuilds,
    lookBackMs: Math.max(settings.lookBackMinutes * 60_000, ownPollMs * 2),
  }
}

/** Name that operators of igor know: `jenkinsBuildMonitor`, `gitlabCiBuildMonitor`. */
function monitorOf({ type }: BuildServer): string {
  return `${type.replace(/[-_](\w)/g, (_all, letter: string) => letter.toUpperCase())}BuildMonitor`
}
