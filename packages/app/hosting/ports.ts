/** Capabilities of a process: each its own, or that of a service in its place. */

import { PortError } from '@fairlead/base/port-error.ts'
import { createClouddriver } from '@fairlead/external/clouddriver.ts'
import { openEcho } from '@fairlead/external/echo.ts'
import { openFiat } from '@fairlead/external/fiat.ts'
import { forEachUser } from '@fairlead/external/for-each-user.ts'
import { openFront50 } from '@fairlead/external/front50.ts'
import { openIgor } from '@fairlead/external/igor.ts'
import { openKayenta } from '@fairlead/external/kayenta.ts'
import { noSecrets } from '@fairlead/external/no-secrets.ts'
import { openOrca } from '@fairlead/external/orca.ts'
import { openRosco } from '@fairlead/external/rosco.ts'
import type { Access } from '@fairlead/ports/access.ts'
import type { OpenBackend } from '@fairlead/ports/backend.ts'
import type { Ports } from '@fairlead/ports/ports.ts'
import type { CallService } from '@fairlead/ports/service-call.ts'
import { toStorageError } from '@fairlead/ports/storage-error.ts'
import type { FastifyBaseLogger } from 'fastify'

interface PortOptions {
  readonly call: CallService
  readonly log: FastifyBaseLogger
  /** Milliseconds on a monotonic clock. */
  readonly steady: () => number
  /** What users may do; with several names, `each` has those whose rights count. */
  readonly accessOf: (users: string) => Promise<Access>
}

export function createPorts({ call, log, steady, accessOf }: PortOptions) {
  const callForAll = forEachUser(call, accessOf)
  const chosen: Ports = {
    bakery: openRosco(callForAll),
    builds: openIgor(callForAll),
    canaries: openKayenta(callForAll),
    definitions: openFront50(callForAll),
    events: openEcho(call),
    executions: openOrca(call),
    infrastructure: createClouddriver(callForAll, steady),
    rights: openFiat(call),
    secrets: noSecrets,
  }
  const late = Object.keys(chosen).map((name) => [
    name,
    lateBound(() => chosen[name as keyof Ports]),
  ])
  return {
    /** Back ends may take what they need of it while others are not open yet. */
    ports: Object.fromEntries(late) as unknown as Ports,
    /** Ports of a back end that has been opened take the place of services. */
    add({ ports: own = {} }: OpenBackend) {
      const answering = Object.entries(own).map(([name, port]) => [name, withAnswers(port, log)])
      Object.assign(chosen, Object.fromEntries(answering))
    },
  }
}

/** The port that is there at the time of each call. */
function lateBound<Port extends object>(find: () => Port): Port {
  return new Proxy({} as Port, {
    get(_, name) {
      const member: unknown = find()[name as keyof Port]
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        const port = find()
        return Reflect.apply(port[name as keyof Port] as typeof member, port, given)
      }
    },
  })
}

/** What fails is a refusal with the status that a route would answer with. */
function withAnswers<Port extends object>(port: Port, log: FastifyBaseLogger): Port {
  const fail = (thrown: unknown): never => {
    const error = toStorageError(thrown)
    if (error instanceof PortError || (error as Error).name === 'AbortError') throw error
    log.error({ err: thrown }, 'an embedded back end failed')
    throw new PortError(500, (error as Error).message)
  }
  return new Proxy(port, {
    get(target, name) {
      const member: unknown = target[name as keyof Port]
      if (typeof member === 'object' && member !== null) return withAnswers(member, log)
      if (typeof member !== 'function') return member
      return (...given: unknown[]) => {
        const result: unknown = Reflect.apply(member, target, given)
        return result instanceof Promise ? result.catch(fail) : result
      }
    },
  })
}
