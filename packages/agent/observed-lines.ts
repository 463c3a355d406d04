/** Changes of the observed state, as lines of JSON: what the agent sends, and how Fairlead applies it. */
import { BoundedMap } from '@fairlead/base/caches/bounded-map.ts'
import type {
  ObservedInstance,
  ObservedLoadBalancer,
  ObservedMember,
  ObservedState,
} from '@fairlead/base/net/agent-protocol.ts'

export type ObservedHead = Omit<ObservedState, 'instances' | 'loadBalancers'>

/** First line: the lines that follow bring a client from `since` to `sequence`; 0: from nothing. */
interface HeadLine {
  readonly head: ObservedHead & { readonly since: number }
}
type ItemLine =
  | { readonly instance: ObservedInstance }
  | { readonly balancer: Omit<ObservedLoadBalancer, 'members'> }
  | { readonly member: ObservedMember; readonly of: string }
  | { readonly goneInstance: string }
  | { readonly goneBalancer: string }
  | { readonly goneMember: string; readonly of: string }
/** Without the last line, the answer broke off. */
interface EndLine {
  readonly end: true
}
export type ObservedLine = HeadLine | ItemLine | EndLine

interface NumberedLine {
  readonly line: string
  /** The number of the state in which it was new, or gone. */
  readonly sequence: number
}

/** Most lines that are noted as gone; a client that has missed more gets everything. */
const maxGone = 10_000

/** The observed state of an agent, with the sequence at which each part changed. */
export class ObservedLedger {
  #entries = new Map<string, NumberedLine>()
  readonly #gone = new BoundedMap<string, NumberedLine>(maxGone)
  #head: ObservedHead | undefined
  /** Clients that have an older state cannot be told what has gone since. */
  #oldestSequence = 0

  /** Compares with what was there before. A state of the same sequence counts as the same. */
  update({ instances, loadBalancers, ...head }: ObservedState): void {
    const { sequence } = head
    if (sequence === this.#head?.sequence) return
    this.#head = head
    const before = this.#entries
    const entries = new Map<string, NumberedLine>()
    const note = (key: string, item: ItemLine) => {
      const line = JSON.stringify(item)
      const known = before.get(key)
      entries.set(key, known?.line === line ? known : { line, sequence })
      this.#gone.delete(key)
    }
    for (const instance of instances) note(`instance ${instance.id}`, { instance })
    for (const { members, ...balancer } of loadBalancers) {
      note(`balancer ${balancer.id}`, { balancer })
      for (const member of members)
        note(`member ${balancer.id} ${member.instanceId}`, { member, of: balancer.id })
    }
    for (const [key, { line }] of before) if (!entries.has(key)) this.#noteGone(key, line)
    this.#entries = entries
  }

  #noteGone(key: string, line: string): void {
    const [oldest] = this.#gone.values()
    if (this.#gone.size >= maxGone && oldest !== undefined) this.#oldestSequence = oldest.sequence
    this.#gone.set(key, {
      line: JSON.stringify(toGone(JSON.parse(line) as ItemLine)),
      sequence: this.#head?.sequence ?? 0,
    })
  }

  /** @param since What the client has; what is unknown here counts as nothing */
  linesSince(since: number): string {
    const head = this.#head
    if (head === undefined) throw new Error('nothing was observed yet')
    const isKnown = since >= this.#oldestSequence && since <= head.sequence
    const from = isKnown ? since : 0
    const lines = [JSON.stringify({ head: { ...head, since: from } } satisfies HeadLine)]
    // What is gone comes first: the same name may be there again for something else.
    if (from > 0)
      for (const { line, sequence } of this.#gone.values()) if (sequence > from) lines.push(line)
    for (const { line, sequence } of this.#entries.values()) if (sequence > from) lines.push(line)
    lines.push(JSON.stringify({ end: true } satisfies EndLine))
    return `${lines.join('\n')}\n`
  }
}

function toGone(item: ItemLine): ItemLine {
  if ('instance' in item) return { goneInstance: item.instance.id }
  if ('balancer' in item) return { goneBalancer: item.balancer.id }
  return 'member' in item ? { goneMember: item.member.instanceId, of: item.of } : item
}

/** The observed state as a client has received it, line by line. */
export class ObservedCopy {
  #instances = new Map<string, ObservedInstance>()
  #balancers = new Map<
    string,
    { balancer: Omit<ObservedLoadBalancer, 'members'>; members: Map<string, ObservedMember> }
  >()
  #head: ObservedHead | undefined

  /** @returns the state once it is complete @throws {Error} for a line that does not follow from what was received before */
  receive(line: ObservedLine): ObservedState | undefined {
    if ('head' in line) this.#begin(line)
    else if ('end' in line) return this.#toState()
    else this.#apply(line)
    return undefined
  }

  #begin({ head: { since, ...head } }: HeadLine): void {
    if (since === 0) {
      this.#instances = new Map()
      this.#balancers = new Map()
    } else if (since !== this.#head?.sequence || head.pid !== this.#head.pid) {
      throw new Error('the agent reports changes of a state that was not received')
    }
    this.#head = head
  }

  #apply(line: ItemLine): void {
    if ('instance' in line) this.#instances.set(line.instance.id, line.instance)
    else if ('goneInstance' in line) this.#instances.delete(line.goneInstance)
    else if ('goneBalancer' in line) this.#balancers.delete(line.goneBalancer)
    else if ('balancer' in line) {
      const members =
        this.#balancers.get(line.balancer.id)?.members ?? new Map<string, ObservedMember>()
      this.#balancers.set(line.balancer.id, { balancer: line.balancer, members })
    } else if ('member' in line)
      this.#balancers.get(line.of)?.members.set(line.member.instanceId, line.member)
    else this.#balancers.get(line.of)?.members.delete(line.goneMember)
  }

  #toState(): ObservedState {
    if (this.#head === undefined) throw new Error('the agent reports changes before its state')
    const loadBalancers = [...this.#balancers.values()].map(({ balancer, members }) => ({
      ...balancer,
      members: [...members.values()],
    }))
    return { ...this.#head, instances: [...this.#instances.values()], loadBalancers }
  }
}
