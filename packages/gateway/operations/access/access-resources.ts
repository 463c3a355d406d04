/** Permissions of applications, accounts and build services, as the services that own them declare them. */
import { maybeTexts, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import { type RoleLists, rolesIn, toPermissionRecord } from '@fairlead/model/rights/permissions.ts'
import { readJson, type UpstreamAnswer } from '../../upstreams/answer-form.ts'
import type { AccessSubject } from './decide-access.ts'

export interface ResourcePermissions {
  readonly kind: 'application' | 'account' | 'build service' | 'service account'
  readonly name: string
  /** Roles by authorization; of a service account, those that a user needs to use it. Without any it is unrestricted. */
  readonly permissions: RoleLists
}

type CallOwner = (
  service: ServiceName,
  call: { path: string; query?: Record<string, string> },
) => Promise<UpstreamAnswer>

interface PermissionSource {
  readonly kind: ResourcePermissions['kind']
  readonly service: ServiceName
  readonly path: string
  readonly query?: Record<string, string>
}

const places = {
  account: {
    kind: 'account',
    service: 'clouddriver',
    path: '/credentials',
    query: { expand: 'true' },
  },
  buildService: { kind: 'build service', service: 'igor', path: '/buildServices' },
  serviceAccount: { kind: 'service account', service: 'front50', path: '/serviceAccounts' },
} as const satisfies Readonly<Record<Exclude<keyof AccessSubject, 'application'>, PermissionSource>>

/** What cannot be read is left out: the decision does not need it. */
export async function loadResourcePermissions(
  call: CallOwner,
  { application, account, buildService, serviceAccount }: AccessSubject,
): Promise<ResourcePermissions[]> {
  const found = await Promise.all([
    application && ofApplication(call, application),
    account && ofEntry(call, places.account, account),
    buildService && ofEntry(call, places.buildService, buildService),
    serviceAccount && ofEntry(call, places.serviceAccount, serviceAccount),
  ])
  return found.filter((one) => typeof one === 'object')
}

export async function applicationExists(
  call: CallOwner,
  application: string,
): Promise<boolean | undefined> {
  try {
    const { status } = await call('front50', { path: pathTo`/v2/applications/${application}` })
    if (status === 404) return false
    // One that may not be read is there.
    return status < 300 || status === 403 ? true : undefined
  } catch {
    return undefined
  }
}

async function ofApplication(
  call: CallOwner,
  name: string,
): Promise<ResourcePermissions | undefined> {
  const found = await read(call, 'front50', { path: pathTo`/permissions/applications/${name}` })
  return isObject(found)
    ? { kind: 'application', name, permissions: permissionsIn(found) }
    : undefined
}

async function ofEntry(
  call: CallOwner,
  place: PermissionSource,
  wanted: string,
): Promise<ResourcePermissions | undefined> {
  const entries = await read(call, place.service, {
    path: place.path,
    ...(place.query && { query: place.query }),
  })
  const entry = objectsOf(entries).find(
    ({ name }) => typeof name === 'string' && foldName(name) === foldName(wanted),
  )
  return (
    entry && { kind: place.kind, name: String(entry['name']), permissions: permissionsIn(entry) }
  )
}

async function read(
  call: CallOwner,
  service: ServiceName,
  question: Parameters<CallOwner>[1],
): Promise<unknown> {
  try {
    return readJson(await call(service, question), service)
  } catch {
    return undefined
  }
}

const toMembers = shape({ memberOf: maybeTexts })

function permissionsIn(entry: JsonObject): RoleLists {
  const roles = rolesIn(toPermissionRecord(entry))
  const { memberOf } = toMembers(entry)
  return Object.keys(roles).length === 0 && memberOf !== undefined ? { USE: memberOf } : roles
}
