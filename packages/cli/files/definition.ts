/** A definition as files hold it: without what a server makes, and with names in place of ids. */
import { isObject, type JsonObject, listOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import type { FileKind } from '@fairlead/model/definition-files/file-kinds.ts'

export interface Definition {
  readonly kind: FileKind
  /** Missing for a project and a template, which belong to none. */
  readonly application?: string | undefined
  readonly name: string
  readonly document: JsonObject
  /** Where it was read. */
  readonly file?: string
}

/** @throws {Error} when it lacks what it is known by */
export function toDefinition(kind: FileKind, document: JsonObject, file?: string): Definition {
  const { nameField, applicationOf } = identities[kind]
  const name = textOf(document[nameField])
  const application = applicationOf(document)
  if (name === undefined) throw new Error(`"${nameField}" is missing`)
  if (application === undefined && kind !== 'project' && kind !== 'template')
    throw new Error(
      `"${kind === 'canary-configuration' ? 'applications' : 'application'}" is missing`,
    )
  return { kind, application, name, document, ...(file !== undefined && { file }) }
}

interface Identity {
  readonly nameField: string
  readonly applicationOf: (document: JsonObject) => string | undefined
}

const named = (field: string): Identity => ({
  nameField: 'name',
  applicationOf: (document) => textOf(document[field]),
})

const identities: Readonly<Record<FileKind, Identity>> = {
  application: named('name'),
  environments: {
    nameField: 'application',
    applicationOf: ({ application }) => textOf(application),
  },
  'load-balancer': named('application'),
  project: { nameField: 'name', applicationOf: () => undefined },
  template: { nameField: 'id', applicationOf: () => undefined },
  'canary-configuration': {
    nameField: 'name',
    applicationOf: ({ applications }) => textsOf(applications)[0],
  },
  strategy: named('application'),
  pipeline: named('application'),
}

/** Equal for the same definition in files and at an instance, without regard to case as in the stores. */
export function keyOf({
  kind,
  application = '',
  name,
}: Pick<Definition, 'kind' | 'application' | 'name'>): string {
  return `${kind} ${application.toLowerCase()} ${name.toLowerCase()}`
}

/** `pipeline "deploy" of shop` */
export function titleOf({ kind, application, name }: Definition): string {
  const what = kind.replace('-', ' ')
  if (kind === 'application' || kind === 'environments')
    return kind === 'application' ? `application ${name}` : `environments of ${name}`
  return `${what} "${name}"${application === undefined ? '' : ` of ${application}`}`
}

const stamps = ['createTs', 'updateTs', 'lastModified', 'lastModifiedBy'] as const

const madeByServer: Readonly<Record<FileKind, readonly string[]>> = {
  application: ['accounts', 'user', 'environments', 'clusters', 'appliedFromFiles', ...stamps],
  environments: [],
  'load-balancer': [],
  project: ['id', ...stamps],
  template: ['digest', ...stamps],
  'canary-configuration': [
    'id',
    'createdTimestamp',
    'createdTimestampIso',
    'updatedTimestamp',
    'updatedTimestampIso',
  ],
  strategy: ['id', 'index', 'strategy', ...stamps],
  pipeline: ['id', 'index', ...stamps],
}

/** What stores add where a document has nothing. */
const defaults: Readonly<Partial<Record<FileKind, JsonObject>>> = {
  pipeline: { schema: '1', triggers: [] },
  strategy: { schema: '1', triggers: [] },
  application: { trafficGuards: [] },
  'load-balancer': {
    healthCheck: 'TCP',
    healthInterval: 10,
    healthTimeout: 5,
    unhealthyThreshold: 2,
    healthyThreshold: 10,
    isInternal: false,
    securityGroups: [],
  },
}

/** Without fields that a server makes, without those that say nothing, and without ids of cron triggers, which the store gives. */
export function toPortable(kind: FileKind, document: JsonObject): JsonObject {
  const usual = defaults[kind] ?? {}
  const isSaid = ([key, value]: [string, unknown]) =>
    value !== null &&
    value !== undefined &&
    !madeByServer[kind].includes(key) &&
    JSON.stringify(value) !== JSON.stringify(usual[key])
  const portable = Object.fromEntries(Object.entries(document).filter(isSaid))
  if (kind === 'application')
    return { ...withJoinedProviders(portable), name: String(document['name']).toLowerCase() }
  if (kind === 'load-balancer')
    return { ...portable, listeners: listOf(document['listeners']).map(withoutUsualProtocol) }
  const { triggers } = portable
  if (!Array.isArray(triggers)) return portable
  return { ...portable, triggers: triggers.map(withoutCronId) }
}

/** The store keeps the list as one text. */
function withJoinedProviders(application: JsonObject): JsonObject {
  const { cloudProviders: list } = application
  return Array.isArray(list) ? { ...application, cloudProviders: list.join(',') } : application
}

/** Requests go on as HTTP, and connections as TCP, unless a listener says otherwise. */
function withoutUsualProtocol(listener: unknown): unknown {
  if (!isObject(listener)) return listener
  const { internalProtocol, ...rest } = listener
  const usual = /^HTTP/i.test(String(listener['externalProtocol'] ?? 'HTTP')) ? 'HTTP' : 'TCP'
  return internalProtocol === undefined || internalProtocol === usual ? rest : listener
}

function withoutCronId(trigger: unknown): unknown {
  if (!isObject(trigger) || trigger['type'] !== 'cron') return trigger
  const { id: _id, ...rest } = trigger
  return rest
}
