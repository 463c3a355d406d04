/** One row of the infrastructure service's tables, and what most answers share. */
import { hash } from 'node:crypto'
import { PortError } from '@fairlead/base/port-error.ts'
import { type Access, type ApplicationRight, lackingOf } from '@fairlead/ports/access.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { ArtifactAccount } from '../artifacts/account-type.ts'
import type { ProviderType } from '../provider-type.ts'
import type { EntityTagStore } from './entity-tag-store.ts'
import type { Job, LoadBalancer, Owned, SecurityGroup, ServerGroup } from './model.ts'
import type { CloudProvider } from './provider.ts'
import type { Tasks } from './tasks.ts'
import type { AccountMarks } from './views.ts'

export interface EmbeddedInfrastructure {
  readonly context: BackendContext
  readonly providers: readonly CloudProvider[]
  readonly types: readonly ProviderType[]
  readonly tasks: Tasks
  readonly entityTags: EntityTagStore
  readonly artifactAccounts: readonly ArtifactAccount[]
  readonly marks: AccountMarks
}

export interface InfrastructureRoute {
  method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** Has `:name` for path values and a final `*` for the rest of the path. */
  path: string
  /** Path values that name what the caller must be allowed to read: checked before anything else. */
  reads?: readonly ('application' | 'account')[] | undefined
  answer: RouteHandler
}

export interface Asked {
  readonly params?: unknown
  readonly query?: unknown
  readonly body?: unknown
  readonly as: Caller
  /** All for whom it is asked; `anonymous` where there is none. */
  readonly user: string
  /** Undefined: another capability asks for itself. */
  readonly asker: string | undefined
  /** Whether no answer waits longer than a second for an account that is away: the last state counts, with its age. */
  readonly isBounded?: boolean
}

/** The body of a 200, its JSON, or slices of that; anything else is thrown as a PortError. */
export type RouteHandler = (request: Asked, infrastructure: EmbeddedInfrastructure) => unknown

export function get(
  path: string,
  answer: RouteHandler,
  reads: InfrastructureRoute['reads'] = [],
): InfrastructureRoute {
  return { method: 'GET', path, reads, answer }
}

/** JSON of an answer: clients that have it get a 304. */
export class Written {
  readonly json: string

  constructor(json: string) {
    this.json = json
  }

  get version(): string {
    return hash('sha1', this.json, 'base64url')
  }
}

export function writtenList(entries: readonly string[]): Written {
  return new Written(`[${entries.join(',')}]`)
}

/** An empty list: nothing of this kind exists. */
export function none(): unknown[] {
  return []
}

/**
 * Answers 404 with the resource's kind and the path values that name it, for example
 * `Instance not found (id: i-1)`.
 */
export function notFound(kind: string, ...names: string[]): RouteHandler {
  return (request) => {
    throw missing(request, kind, ...names)
  }
}

export function missing(request: Asked, kind: string, ...names: string[]): PortError {
  const named = names.map((name) => `${name === '*' ? 'id' : name}: ${pathValue(request, name)}`)
  return new PortError(404, `${kind} not found (${named.join(', ')})`)
}

/** @throws {PortError} 503 while the permission service cannot be asked: an empty list would look like lost servers */
export function accessOf(request: Asked, { context }: EmbeddedInfrastructure): Promise<Access> {
  return requireAccess(context, request.user)
}

/** @throws {PortError} 403 */
export function checkReadable(access: Access, name: string, kind: ResourceRight['kind']): void {
  checkRight(access, { kind, name, right: 'READ' })
}

/** Its name is as the caller has written it: the text repeats it, whether or not it exists. */
type ResourceRight =
  | { readonly kind: 'application'; readonly name: string; readonly right: ApplicationRight }
  | { readonly kind: 'account'; readonly name: string; readonly right: 'READ' | 'WRITE' }

/** @throws {PortError} 403 */
export function checkRight(access: Access, { kind, name, right }: ResourceRight): void {
  const has = (one: Access) =>
    kind === 'application' ? one.mayOnApplication(name, right) : one.mayOnAccount(name, right)
  if (has(access)) return
  const user = lackingOf(access, has)
  const advice = user === 'anonymous' ? ` ${anonymousAdvice}` : ''
  const text = `Access denied to ${kind} ${name}: ${user} has no ${right}.${advice}`
  throw new PortError(403, text, { exception: 'AccessDenied' })
}

export function mayRead(access: Access, name: string, kind: ResourceRight['kind']): boolean {
  return kind === 'application'
    ? access.mayOnApplication(name, 'READ')
    : access.mayOnAccount(name, 'READ')
}

/** Whether the caller may READ the account of a resource, and its applications. */
export function isReadable(access: Access, owned: Owned): boolean {
  if (
    !access.mayOnAccount(owned.account, 'READ') ||
    (owned.unknownController !== undefined && !access.isAdmin)
  )
    return false
  return ownersOf(owned).every((name) => access.mayOnApplication(name, 'READ'))
}

export function ownersOf({ moniker, coOwners = [] }: Owned): string[] {
  return moniker.app === null ? [] : [moniker.app, ...coOwners]
}

/** The applications of what was found count, not the one that the path names. @throws {PortError} 403 */
export async function checkOwners(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
  owned: Owned,
): Promise<void> {
  checkOwned(await accessOf(request, infrastructure), owned)
}

/** @throws {PortError} 403 */
export function checkOwned(access: Access, owned: Owned): void {
  for (const name of ownersOf(owned)) checkReadable(access, name, 'application')
  if (owned.unknownController === undefined || access.isAdmin) return
  const text = `Whose this object is cannot be known: its controller ${owned.unknownController} cannot be found. An administrator can read it.`
  throw new PortError(403, text, { exception: 'AccessDenied' })
}

const anonymousAdvice =
  'A pipeline that no user starts acts for a service account if its trigger has runAsUser.'

export function providerOf(
  { providers }: EmbeddedInfrastructure,
  id: string,
): CloudProvider | undefined {
  return providers.find((provider) => provider.id === id.toLowerCase())
}

export function serverGroupsOf(
  { providers }: EmbeddedInfrastructure,
  application?: string,
): ServerGroup[] {
  return providers.flatMap((provider) => [...provider.serverGroups(application)])
}

export async function readableGroups(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
): Promise<ServerGroup[]> {
  const access = await accessOf(request, infrastructure)
  const groups = serverGroupsOf(infrastructure, pathValue(request, 'application'))
  return groups.filter((group) => isReadable(access, group))
}

export async function readableBalancers(
  request: Asked,
  infrastructure: EmbeddedInfrastructure,
  balancers: readonly LoadBalancer[],
): Promise<LoadBalancer[]> {
  const access = await accessOf(request, infrastructure)
  return balancers
    .filter((balancer) => isReadable(access, balancer))
    .map((balancer) => ({
      ...balancer,
      serverGroups: balancer.serverGroups.filter(({ owned }) => isReadable(access, owned)),
    }))
}

export function loadBalancersOf({ providers }: EmbeddedInfrastructure): LoadBalancer[] {
  return providers.flatMap((provider) => [...provider.loadBalancers()])
}

export function jobsOf({ providers }: EmbeddedInfrastructure, application: string): Job[] {
  return providers
    .flatMap((provider) => [...provider.jobs()])
    .filter((job) => isOf(application, job))
}

/** Without regard to case. */
export function isOf(application: string, { moniker }: Owned): boolean {
  return moniker.app?.toLowerCase() === application.toLowerCase()
}

export function securityGroupsOf({ providers }: EmbeddedInfrastructure): SecurityGroup[] {
  return providers.flatMap((provider) => [...provider.securityGroups()])
}

export function unknownProvider({ providers }: EmbeddedInfrastructure, provider: string): string {
  const known =
    providers.length === 0
      ? 'this installation has no infrastructure accounts'
      : `this installation has accounts of ${providers.map(({ id }) => id).join(', ')}`
  return (
    `The cloud provider "${provider}" is not known: ${known}. ` +
    'Connect an infrastructure service (services.clouddriver.baseUrl) that has some.'
  )
}
