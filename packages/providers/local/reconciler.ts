/** Reconciles this machine with its desired state: sends it to the agent, continues waiting steps. */
import type {
  Agent,
  DesiredState,
  ObservedInstance,
  ObservedMember,
  ObservedState,
} from '@fairlead/base/net/agent-protocol.ts'
import { isRunning } from '@fairlead/base/settings/time-span.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import {
  type Desired,
  type Leaving,
  type LocalBalancer,
  type LocalGroup,
  type LocalInstance,
  type LocalJob,
  placeKey,
} from './desired.ts'
import { balancersOf, isServing } from './wanted.ts'

export interface Observation {
  /** Revision of the desired state that it is about; 0 before the first report. */
  readonly revision: number
  readonly instances: ReadonlyMap<string, ObservedInstance>
  readonly members: ReadonlyMap<string, ReadonlyMap<string, ObservedMember>>
  /** Why listeners are not open, by load balancer. */
  readonly closed: ReadonlyMap<string, readonly string[]>
}

const nothing: Observation = {
  revision: 0,
  instances: new Map(),
  members: new Map(),
  closed: new Map(),
}

export interface ReconcilerOptions {
  readonly context: Pick<BackendContext, 'now' | 'steady' | 'log' | 'stateChanged'>
  readonly desired: Desired
  readonly agent: Agent
  readonly toState: () => DesiredState
  readonly drainMs: number
  /** Called after each step, with `change`. */
  readonly onStep?: (change: Reconciler['change']) => void
}

/** Pause after the store refused a step: locked, or its disk is full. */
const storeRetryMs = 1000

/** Time that the front leaves connections of an instance out of service, unless its limits say otherwise. */
const hostDrainMs = 300_000

const keptJobs = 100

export class Reconciler {
  readonly #options: ReconcilerOptions
  #observation = nothing
  #sent = -1
  #timer: NodeJS.Timeout | undefined
  #isClosed = false
  /** When draining is over at the latest, by instance, on the steady clock. */
  readonly #drainEnds = new Map<string, number>()
  /** Called after each report. */
  readonly #waiting = new Set<() => void>()

  constructor(options: ReconcilerOptions) {
    this.#options = options
  }

  get observation(): Observation {
    return this.#observation
  }

  /** Why its ports are not open, in sentences; undefined: the agent has not reported it yet. */
  closedOf(balancer: LocalBalancer): readonly string[] | undefined {
    const reasons = this.#observation.closed.get(placeKey(balancer))
    if (reasons === undefined || reasons.length === 0 || balancer.site === undefined) return reasons
    return [
      ...reasons,
      'Its ports are front.http and front.https of the account in local.accounts.',
    ]
  }

  start(): void {
    this.#options.agent.onChange(() => this.#observe())
    this.step()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    clearTimeout(this.#timer)
    await this.#options.agent.close()
  }

  /** Changes the desired state in a transaction of its own, then acts on it. */
  change(work: () => void): void {
    this.#options.desired.transact(work)
    this.step()
  }

  /**
   * Waits until this machine is so, with every change that was made before.
   *
   * @returns false: it is not so within the time, in milliseconds
   */
  reaches(holds: (observation: Observation) => boolean, withinMs: number): Promise<boolean> {
    const { revision } = this.#options.desired
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const look = () => {
      if (this.#observation.revision >= revision && holds(this.#observation)) end(true)
    }
    const timer = setTimeout(() => end(false), withinMs)
    const end = (isReached: boolean) => {
      clearTimeout(timer)
      this.#waiting.delete(look)
      resolve(isReached)
    }
    this.#waiting.add(look)
    look()
    return promise
  }

  #observe(): void {
    const state = this.#options.agent.observed()
    this.#options.context.stateChanged()
    if (this.#isClosed || state === undefined) return
    this.#observation = toObservation(state)
    this.step()
    for (const look of this.#waiting) look()
  }

  /** Takes every step that is due, and sends the result. */
  step(): void {
    if (this.#isClosed) return
    const { desired, agent, toState } = this.#options
    let isRecorded = true
    try {
      const steps = this.#dueSteps()
      if (steps.length > 0) {
        desired.transact(() => {
          for (const take of steps) take()
        })
      }
    } catch (error) {
      isRecorded = false
      this.#options.context.log.error(
        { err: error },
        'a step towards the desired state could not be recorded',
      )
    }
    if (this.#sent !== desired.revision) {
      this.#sent = desired.revision
      this.#options.context.stateChanged()
      agent.setDesired(toState())
    }
    this.#wakeUp(isRecorded)
    this.#options.onStep?.((work) => this.change(work))
  }

  #dueSteps(): (() => void)[] {
    const { desired, context } = this.#options
    const steps: (() => void)[] = []
    const emptied = new Set<string>()
    for (const instance of desired.all('instances')) {
      const step = this.#stepOf(instance)
      if (step === undefined) continue
      steps.push(step)
      if (instance.leaving?.stage === 'stopping' && instance.group !== undefined) {
        emptied.add(
          placeKey({ account: instance.account, region: instance.region, name: instance.group }),
        )
      }
    }
    for (const group of desired.all('groups')) {
      if (!group.isLeaving) {
        if (group.servingSinceMs === null && this.#isUp(group))
          steps.push(() => desired.put('groups', { ...group, servingSinceMs: context.now() }))
        continue
      }
      if (emptied.has(placeKey(group)) || desired.instancesOf(group).length === 0) {
        steps.push(() => {
          if (desired.instancesOf(group).length === 0) desired.remove('groups', group)
        })
      }
    }
    for (const job of desired.all('jobs')) steps.push(...this.#stepsOfJob(job))
    return [...steps, ...this.#forgetJobs()]
  }

  #isUp(group: LocalGroup): boolean {
    const { desired } = this.#options
    const isReady = ({ id }: LocalInstance) =>
      this.#observation.instances.get(id)?.phase === 'ready'
    return desired
      .stayingInstances(group)
      .some((instance) => isServing(desired, instance) && isReady(instance))
  }

  #stepOf(instance: LocalInstance): (() => void) | undefined {
    const { desired, context } = this.#options
    const { leaving } = instance
    if (leaving === undefined) return undefined
    if (leaving.stage === 'draining') {
      if (this.#leftMs(instance, leaving) > 0 && !this.#isDrained(instance)) return undefined
      const stopping = {
        stage: 'stopping',
        sinceMs: context.now(),
        revision: desired.revision + 1,
      } as const
      return () => desired.put('instances', { ...instance, leaving: stopping })
    }
    if (!this.#isGone(instance.id, leaving.revision ?? 0)) return undefined
    return () => {
      this.#drainEnds.delete(instance.id)
      desired.remove('instances', instance)
    }
  }

  /** What is left of its time to drain. A clock that is set meanwhile cuts nothing short; only what began before this process goes by that clock. */
  #leftMs(instance: LocalInstance, { sinceMs }: Leaving): number {
    const { context } = this.#options
    const { id } = instance
    const drainMs = this.#drainMsOf(instance)
    const { now, steady } = context
    const untilMs = sinceMs + drainMs
    const endMs =
      this.#drainEnds.get(id) ??
      steady() + (isRunning(now(), untilMs, 2 * drainMs) ? untilMs - now() : 0)
    this.#drainEnds.set(id, endMs)
    return endMs - steady()
  }

  /** WebSockets of hosts live on for a while after a deployment; without any, an instance has drained at once. */
  #drainMsOf(instance: LocalInstance): number {
    return Math.max(this.#options.drainMs, this.#hostDrainMsOf(instance) ?? 0)
  }

  /** Undefined: it has no hosts. */
  #hostDrainMsOf(instance: LocalInstance): number | undefined {
    const { desired } = this.#options
    const { account, region } = instance
    const sites = balancersOf(desired, instance).flatMap(
      (name) => desired.get('balancers', placeKey({ account, region, name }))?.site ?? [],
    )
    if (sites.length === 0) return undefined
    return Math.max(...sites.map(({ limits }) => limits.drainMs ?? hostDrainMs))
  }

  /** Until when connections of an instance with hosts may keep it; undefined: it does not drain for hosts. */
  drainEndOf(instance: LocalInstance): number | undefined {
    const { leaving } = instance
    const isDraining = leaving?.stage === 'draining' && this.#hostDrainMsOf(instance) !== undefined
    return isDraining ? leaving.sinceMs + this.#drainMsOf(instance) : undefined
  }

  /** No load balancer has a request for it, or could send one. */
  #isDrained(instance: LocalInstance): boolean {
    const { account, region, id } = instance
    return balancersOf(this.#options.desired, instance).every((name) => {
      const key = placeKey({ account, region, name })
      if (this.#options.desired.get('balancers', key) === undefined) return true
      const member = this.#observation.members.get(key)?.get(id)
      // An agent that has not seen the change yet may still send requests.
      if (member === undefined) return this.#observation.revision >= this.#options.desired.revision
      return !member.inService && member.inFlight === 0
    })
  }

  #isGone(id: string, revision: number): boolean {
    return this.#observation.revision >= revision && !this.#observation.instances.has(id)
  }

  #stepsOfJob(job: LocalJob): (() => void)[] {
    const { desired, context } = this.#options
    if (job.leavingRevision !== undefined)
      return this.#isGone(job.id, job.leavingRevision) ? [() => desired.remove('jobs', job)] : []
    if (job.end !== undefined) return []
    const observed = this.#observation.instances.get(job.id)
    if (observed === undefined || (observed.phase !== 'ended' && observed.phase !== 'failed'))
      return []
    const { endedAt, exitCode, signal, reason } = observed
    return [
      () =>
        desired.put('jobs', {
          ...job,
          end: { atMs: endedAt ?? context.now(), exitCode, signal, reason },
        }),
    ]
  }

  /** The oldest of many ended jobs make room. */
  #forgetJobs(): (() => void)[] {
    const { desired } = this.#options
    const ended = [...desired.all('jobs')].filter(
      ({ end, leavingRevision, isBuild }) =>
        end !== undefined && leavingRevision === undefined && isBuild !== true,
    )
    return [...Map.groupBy(ended, ({ account }) => account).values()].flatMap((ofAccount) =>
      ofAccount
        .sort((one, other) => other.createdMs - one.createdMs)
        .slice(keptJobs)
        .map((job) => () => desired.dismissJob(job)),
    )
  }

  /** Draining ends at its time also when no report comes, and what was not recorded is due again. */
  #wakeUp(isRecorded: boolean): void {
    clearTimeout(this.#timer)
    const { desired } = this.#options
    let nextMs = Number.POSITIVE_INFINITY
    for (const instance of desired.all('instances')) {
      const { leaving } = instance
      if (leaving?.stage === 'draining') nextMs = Math.min(nextMs, this.#leftMs(instance, leaving))
    }
    const pauseMs = isRecorded ? Math.max(10, nextMs) : storeRetryMs
    if (pauseMs === Number.POSITIVE_INFINITY) return
    this.#timer = setTimeout(() => this.step(), pauseMs).unref()
  }
}

function toObservation({ revision, instances, loadBalancers }: ObservedState): Observation {
  return {
    revision,
    instances: new Map(instances.map((instance) => [instance.id, instance])),
    members: new Map(
      loadBalancers.map(({ id, members }) => [
        id,
        new Map(members.map((member) => [member.instanceId, member])),
      ]),
    ),
    closed: new Map(
      loadBalancers.map(({ id, listeners }) => [
        id,
        listeners
          .filter(({ open }) => !open)
          .map(({ port, reason }) => reason ?? `Port ${port} is being opened.`),
      ]),
    ),
  }
}
