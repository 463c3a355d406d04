/** The one difference between Spinnaker's services and Fairlead's own: places, names, and what the gateway may expect. */
import {
  ownNames,
  type ServiceAddress,
  type ServiceName,
} from '@fairlead/base/services/services.ts'

export interface ServiceTraits {
  /** Is back within seconds of its end: calls wait for it, and no circuit opens. */
  readonly comesBack: boolean
  /** Costs so little that it is asked at once, and without a client. */
  readonly isAtHand: boolean
  /** Its errors are for users as they are, and do not name it. */
  readonly speaksForFairlead: boolean
  /** Leaves it to the gateway to check what users may do. */
  readonly trustsGateway: boolean
  /** Shows no entries of accounts that the caller may not read. */
  readonly filtersByAccount: boolean
  /** Counts its changes, so that they are reported to clients. */
  readonly countsChanges: boolean
  /** Describes its stage types, or its cloud providers. */
  readonly describesTypes: boolean
  /** Finds executions by user, parameter and text. */
  readonly searchesByText: boolean
  readonly previewsTasks: boolean
  /** Warns about definitions that are saved. */
  readonly warns: boolean
  /** Saves definitions that cannot be checked yet, and holds back what it concerns. */
  readonly holdsBack: boolean
  /** Starts pipelines by name: definitions are stored where they run. */
  readonly startsStored: boolean
  readonly keepsSecrets: boolean
  /** Decides also while `services.fiat.enabled` is off. */
  readonly decidesAlways: boolean
  /** Knows roles only from logins, and keeps them after the logout. */
  readonly learnsRolesFromLogins: boolean
  /** Says what a user might do with other roles. */
  readonly supposesRoles: boolean
}

export interface ServicePlace {
  readonly baseUrls: readonly string[]
  readonly socketPath?: string
  readonly backendKey?: string
  readonly comesBack: boolean
}

interface KnownService {
  readonly name: string
  readonly traits: ServiceTraits
  readonly place: ServicePlace
}

export const spinnakerTraits: ServiceTraits = {
  comesBack: false,
  isAtHand: false,
  speaksForFairlead: false,
  trustsGateway: false,
  filtersByAccount: false,
  countsChanges: false,
  describesTypes: false,
  searchesByText: false,
  previewsTasks: false,
  warns: false,
  holdsBack: false,
  startsStored: false,
  keepsSecrets: false,
  decidesAlways: false,
  learnsRolesFromLogins: false,
  supposesRoles: false,
}

export const ownTraits: ServiceTraits = {
  comesBack: true,
  isAtHand: true,
  speaksForFairlead: true,
  trustsGateway: true,
  filtersByAccount: true,
  countsChanges: true,
  describesTypes: true,
  searchesByText: true,
  previewsTasks: true,
  warns: true,
  holdsBack: true,
  startsStored: true,
  keepsSecrets: true,
  decidesAlways: true,
  learnsRolesFromLogins: true,
  supposesRoles: true,
}

export function toKnownService(service: ServiceName, address: ServiceAddress): KnownService {
  if (address.kind === 'external') {
    const { baseUrl, baseUrls = [baseUrl] } = address
    return { name: service, traits: spinnakerTraits, place: { baseUrls, comesBack: false } }
  }
  const { remote, socketPath } = address
  const baseUrls = (remote?.baseUrls ?? ['http://embedded']).map(
    (baseUrl) => `${baseUrl}/${address.service}`,
  )
  return {
    name: ownNames[address.service],
    traits: ownTraits,
    place: { baseUrls, socketPath, backendKey: remote?.key, comesBack: true },
  }
}
