/** Instances that share requests, and the division of requests among server groups by percentages. */
import { LeastBusy } from '@fairlead/proxy/least-busy.ts'
import type { Member } from './member.ts'

/** Instances of which the least busy one gets the next request. */
export class Pool {
  members: readonly Member[] = []
  readonly #choice = new LeastBusy()

  pick(tried: readonly Member[]): Member | undefined {
    return this.#choice.pick(this.members, tried)
  }
}

interface Portion {
  readonly group: string
  readonly percent: number
  readonly pool: Pool
  /** Smooth weighted round robin: grows with each turn by its weight; the highest one is chosen and pays for all. */
  credit: number
}

/**
 * Divides requests exactly: of 100, a server group with 5 % gets 5, and never more than its share from the first one on. What a server
 * group without an eligible instance would get goes to the others.
 */
export class Shares {
  #portions: readonly Portion[] = []
  /** Tells the portions that keep their credit. */
  #key = ''
  /** Server groups without a share. */
  readonly #rest = new Pool()
  /** Sum of all portions, in percent. */
  #total = 0
  /** Hundredths of a request that the portions have not had yet. */
  #owed = 0

  /** @param eligible Those that may get requests @returns whether one of them has a share */
  update(eligible: readonly Member[]): boolean {
    const groups = Map.groupBy(eligible, ({ share }) => share?.group)
    this.#rest.members = groups.get(undefined) ?? []
    const wanted = [
      ...new Map(
        eligible.flatMap(({ share }) =>
          share === undefined ? [] : [[share.group, share.percent] as const],
        ),
      ),
    ]
    const key = JSON.stringify(wanted)
    if (key !== this.#key)
      this.#portions = wanted.map(([group, percent]) => ({
        group,
        percent,
        pool: new Pool(),
        credit: 0,
      }))
    this.#key = key
    for (const { group, pool } of this.#portions) pool.members = groups.get(group) ?? []
    this.#total = this.#portions.reduce((sum, { percent }) => sum + percent, 0)
    return this.#portions.length > 0
  }

  /** Pool whose turn it is. */
  next(): Pool {
    if (this.#rest.members.length > 0) {
      this.#owed += Math.min(this.#total, 100)
      if (this.#owed < 100) return this.#rest
      this.#owed -= 100
    }
    let best: Portion | undefined
    for (const portion of this.#portions) {
      portion.credit += portion.percent
      if (best === undefined || portion.credit > best.credit) best = portion
    }
    if (best === undefined) return this.#rest
    best.credit -= this.#total
    return best.pool
  }

  /** Where a request that this instance has not answered is repeated first. */
  poolOf({ share }: Member): Pool {
    return this.#portions.find(({ group }) => group === share?.group)?.pool ?? this.#rest
  }
}
