/** Ports of instances: each reserved for one instance until its process is gone. */

import { tryPort } from '@fairlead/base/net/try-port.ts'
import { markOfDataDir } from '@fairlead/base/storage/socket-path.ts'
import type { Desired } from './desired.ts'
import { isPortWithin, loopback, type PortRange } from './machine.ts'
import type { LocalAccountSettings } from './settings.ts'

/** Ports that instances and load balancers have, whether or not a process listens yet. */
function usedPorts(desired: Desired): Set<number> {
  const used = new Set<number>()
  for (const { port } of desired.all('instances')) used.add(port)
  for (const { listeners } of desired.all('balancers'))
    for (const { port } of listeners) used.add(port)
  return used
}

export class InstancePorts {
  readonly #desired: Desired
  readonly #ownPorts: readonly number[]
  readonly #dataDir: string
  /** By account; the search goes on behind it, so that a port rests before it is given again. */
  readonly #latest = new Map<string, number>()

  constructor(desired: Desired, ownPorts: readonly number[], dataDir: string) {
    this.#desired = desired
    this.#ownPorts = ownPorts
    this.#dataDir = dataDir
  }

  /**
   * Ports that no instance has and no process of this machine listens on. They belong to the caller only once instances with
   * them are stored, and operations run one after the other.
   *
   * @throws {Error} when the account has too few
   */
  async find({ name, ports }: LocalAccountSettings, count: number): Promise<number[]> {
    const found: number[] = []
    if (count <= 0) return found
    const used = usedPorts(this.#desired)
    for (const port of this.#ownPorts) used.add(port)
    const size = ports.last - ports.first + 1
    const start = this.#latest.get(name) ?? this.#highest(ports) ?? this.#placeOfOwn(ports)
    let foreign = 0
    for (let step = 1; step <= size && found.length < count; step++) {
      const port = ports.first + ((start - ports.first + step) % size)
      if (used.has(port)) continue
      if ((await tryPort(loopback, port)) === undefined) found.push(port)
      else foreign += 1
    }
    if (found.length < count) {
      const others =
        foreign === 0 ? '' : `Other programs listen on ${foreign} of them; "ss -tlnp" names them. `
      throw new Error(
        `The account ${name} has ${found.length} free ports in ${ports.first}-${ports.last}, and ${count} are needed. ${others}` +
          'Remove server groups that are no longer needed, or widen its range (local.accounts, ports).',
      )
    }
    this.#latest.set(name, found.at(-1) as number)
    return found
  }

  /** After a start the search goes on behind the ports in use. */
  #highest(ports: PortRange): number | undefined {
    let highest: number | undefined
    for (const { port } of this.#desired.all('instances')) {
      if (isPortWithin(port, ports) && port > (highest ?? 0)) highest = port
    }
    return highest
  }

  /** Installations on one machine have the same range by default, and both may see a port free until a program listens on it. */
  #placeOfOwn({ first, last }: PortRange): number {
    return (
      first + (Number.parseInt(markOfDataDir(this.#dataDir).slice(0, 8), 16) % (last - first + 1))
    )
  }
}
