/** Hosts of an application: those of its load balancers, and those that users add to one beside them. */
import { readHost } from '@fairlead/base/names/host-name.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Access, checkOnApplication } from '@fairlead/ports/access.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { checkRight } from '../../infrastructure/route.ts'
import { hostKey, type LocalBalancer, type LocalHost, placeKey } from '../desired.ts'
import type { OperationParts } from '../operations/parts.ts'
import { claimHosts } from './ownership.ts'
import type { ServedHost } from './served-hosts.ts'
import { hostsOf } from './site-fields.ts'

interface DomainParts extends OperationParts {
  /** By the key of the load balancer. */
  readonly served: () => ReadonlyMap<string, readonly ServedHost[]>
}

/** Entry of `GET /apps/{application}/domains`. */
interface Domain extends Partial<Pick<ServedHost, 'address' | 'certificate'>> {
  readonly host: string
  /** Owner. */
  readonly application: string
  readonly claimedMs: number
  /** Beside what the app file or the load balancer has. */
  readonly isAdded: boolean
  /** Load balancers that serve it. */
  readonly loadBalancers: readonly string[]
}

const AddedHost = z.looseObject({ loadBalancer: z.string().min(1).nullish() })
const openingMs = 10_000

export function domainRoutes(app: FastifyInstance, parts: DomainParts): void {
  const { context, desired, reconciler, settings } = parts

  async function callOf(request: FastifyRequest, right: 'READ' | 'WRITE') {
    const application = pathValue(request, 'application')
    const access = await requireAccess(context, userOf(request))
    checkOnApplication(access, application, right)
    return { application, access }
  }

  function frontOf({ account }: LocalBalancer): string {
    return settings.accounts.find(({ name }) => name === account)?.front.address ?? ''
  }

  function balancersOf(application: string): LocalBalancer[] {
    return [...desired.all('balancers')].filter(
      ({ name, site }) => site !== undefined && isOf(parseMoniker(name).app ?? name, application),
    )
  }

  /** @throws {PortError} 404, or 400 where it has to be named */
  function choose(application: string, wanted: string | undefined): LocalBalancer {
    const all = balancersOf(application)
    const found = wanted === undefined ? all : all.filter(({ name }) => name === wanted)
    const [only] = found
    if (only !== undefined && found.length === 1) return only
    if (found.length > 1) {
      const names = found.map(({ name }) => name).join(', ')
      throw new PortError(400, `Say which of these load balancers serves the host: ${names}.`)
    }
    const what =
      wanted === undefined ? 'no service with hosts' : `no load balancer "${wanted}" with hosts`
    throw new PortError(
      404,
      `The application ${application} has ${what} on this machine. Give a service "hosts" in the app file, and deploy it.`,
    )
  }

  function viewsOf(application: string): Domain[] {
    const served = parts.served()
    const balancers = balancersOf(application)
    return [...desired.all('hosts')]
      .filter((each) => isOf(each.application, application))
      .map(({ host, front, loadBalancer, claimedMs, application: owner }) => {
        const serving = balancers.flatMap((balancer) => {
          const rules = frontOf(balancer) === front ? served.get(placeKey(balancer)) : undefined
          const rule = rules?.find((each) => each.host === host)
          return rule === undefined ? [] : [{ name: balancer.name, rule }]
        })
        const { address, certificate } = serving[0]?.rule ?? {}
        return {
          ...{ host, application: owner, claimedMs, isAdded: loadBalancer !== undefined },
          loadBalancers: serving.map(({ name }) => name),
          ...(address !== undefined && { address }),
          ...(certificate !== undefined && { certificate }),
        }
      })
  }

  /** Waits until the front has the change. */
  async function change(work: () => void): Promise<void> {
    reconciler.change(work)
    await reconciler.reaches(() => true, openingMs)
  }

  app.get('/apps/:application/domains', async (request) =>
    viewsOf((await callOf(request, 'READ')).application),
  )

  app.put('/apps/:application/domains/:host', async (request) => {
    const { application, access } = await callOf(request, 'WRITE')
    const host = hostIn(request)
    const { loadBalancer } = checkBody(AddedHost, request.body ?? {})
    const balancer = choose(application, loadBalancer ?? undefined)
    checkAccount(access, balancer)
    const front = frontOf(balancer)
    await change(() => {
      claimHosts([host], { front, application }, rulesOf(access))
      const owned = desired.get('hosts', hostKey(front, host)) as LocalHost
      const { account, region, name } = balancer
      desired.put('hosts', { ...owned, loadBalancer: { account, region, name } })
    })
    return viewsOf(application).find((each) => each.host === host)
  })

  app.delete('/apps/:application/domains/:host', async (request) => {
    const { application, access } = await callOf(request, 'WRITE')
    const host = hostIn(request)
    const owned = [...desired.all('hosts')].filter(
      (each) => each.host === host && isOf(each.application, application),
    )
    if (owned.length === 0)
      throw new PortError(
        404,
        `The host ${host} does not belong to the application ${application}.`,
      )
    const added = owned.filter(({ loadBalancer }) => loadBalancer !== undefined)
    if (added.length === 0)
      throw new PortError(
        409,
        `The host ${host} is one of the load balancer's own. Remove it from "hosts" in the app file, and deploy.`,
      )
    for (const { loadBalancer } of added)
      if (loadBalancer !== undefined) checkAccount(access, loadBalancer)
    await change(() => {
      for (const { loadBalancer: _added, ...host } of added) {
        const isUsed = [...desired.all('balancers')].some(
          (balancer) =>
            frontOf(balancer) === host.front && hostsOf(balancer.site).includes(host.host),
        )
        if (isUsed) desired.put('hosts', host)
        else desired.remove('hosts', host)
      }
    })
    return { host, application, removed: true }
  })

  function rulesOf(access: Access) {
    return { desired, patterns: settings.front.hosts, access, nowMs: context.now() }
  }
}

function checkAccount(access: Access, { account }: { readonly account: string }): void {
  checkRight(access, { kind: 'account', name: account, right: 'WRITE' })
}

/** @throws {PortError} 400 */
function hostIn(request: FastifyRequest): string {
  const text = pathValue(request, 'host')
  const host = readHost(text)
  if (typeof host === 'string') throw new PortError(400, `"${text}" ${host}.`)
  return host.name
}

function isOf(owner: string, application: string): boolean {
  return owner.toLowerCase() === application.toLowerCase()
}
