/** Demands of operations on their callers, as data for checks, documents and tests. */
import { pluginApplication } from '@fairlead/base/names/application-name.ts'
import type { ServiceName } from '@fairlead/base/services/services.ts'
import type { Authorization } from '@fairlead/model/rights/permissions.ts'
import type { Platform } from './platform.ts'

/**
 * Where the application stands that a demand is about. `path`, `query` and `body` name it; an `execution`, a `task`, a
 * `definition` or a `strategy` is looked up by its id; `started` is the definition that a start resolves itself.
 */
export type ApplicationSource =
  | 'path'
  | 'query'
  | 'body'
  | 'execution'
  | 'task'
  | 'definition'
  | 'strategy'
  | 'started'
  | 'canary-config'

/**
 * Whether a token that is limited to applications reaches what demands nothing: `always`, whatever its limits; `never`; or to
 * read it. `itself` is about the token alone.
 */
type TokenReach = 'always' | 'reads' | 'itself' | 'never'

export type Demand =
  | { readonly kind: 'nothing'; readonly why: string; readonly limitedTokens: TokenReach }
  /**
   * The gateway always checks it, because no service does. Without a permission service there is no
   * administrator: `everybody` then marks operations that are open like all others that a permission service would decide.
   */
  | {
      readonly kind: 'admin'
      readonly withoutService: 'nobody' | 'everybody'
      /** No API token is enough: a stolen one must not become a user. */
      readonly inPerson?: true
    }
  | { readonly kind: 'account-manager' }
  | {
      readonly kind: 'application'
      readonly authorization: Authorization
      readonly of: ApplicationSource
      /** The parameter with the name or id, or the field of the body, where it is not the usual one. */
      readonly parameter?: string
      /** The gateway always checks it, because no service does. */
      readonly always?: true
    }
  /** The application in the query under which a task is filed: WRITE, unless it is none, such as the name of the platform. */
  | { readonly kind: 'filed' }
  /** One application, whatever the request says; an administrator as long as it does not exist. The gateway always checks it. */
  | {
      readonly kind: 'named-application'
      readonly authorization: Authorization
      readonly application: string
    }
  | {
      readonly kind: 'account'
      readonly authorization: Authorization
      readonly of: 'path' | 'query' | 'body'
      /** What is read there belongs to no application, such as images. */
      readonly shared?: true
    }
  | {
      readonly kind: 'build-service'
      readonly authorization: Authorization
      readonly parameter: string
    }
  /** The body holds definitions: WRITE on their applications, those they belong to now included, and their service accounts. */
  | { readonly kind: 'definitions' }
  /** A pipeline template, by the id of the path or as the body has it: its scopes say to which applications it belongs. */
  | {
      readonly kind: 'template'
      readonly authorization: 'READ' | 'WRITE'
      readonly of: 'path' | 'body' | 'source'
    }
  /** Notification settings of all applications, which the path means with another type than `application`: an administrator. */
  | { readonly kind: 'notifications' }
  | { readonly kind: 'canary-config' }
  /** The body is the trigger of a start: READ on the run that it names as its parent. */
  | { readonly kind: 'trigger' }
  | { readonly kind: 'jobs' }
  | {
      readonly kind: 'filter'
      readonly by: readonly FilterField[]
      /** Service that has filtered, whatever else the gateway checks for it. */
      readonly filteredAt?: ServiceName
    }

/**
 * `key-account`: the answer is a map by account; `build-service`: entries are names, or objects with one; `scopes`: entries are
 * templates, or lists of them by id; `applications`: entries belong to those in their list, or to all; `accounts`: entries, or the only
 * one, have a list of accounts; `entity`: entries, or the only one, are about an entity in an application and an account.
 */
export type FilterField =
  | 'application'
  | 'applications'
  | 'account'
  | 'accounts'
  | 'entity'
  | 'key-account'
  | 'build-service'
  | 'scopes'

export type Demands = readonly [Demand, ...Demand[]]

export function demandsNothing(why: string, limitedTokens: TokenReach = 'never'): Demands {
  return [{ kind: 'nothing', why, limitedTokens }]
}

const openTo = {
  'caller only': demandsNothing('it concerns the caller alone'),
  'describes the caller': demandsNothing(
    'it shows the caller and what the caller may do',
    'always',
  ),
  'signed by sender': demandsNothing('the sender proves itself to the service that is called'),
}

/** Every caller may; the same object each time, by which such operations are recognised. */
export function open(reason: keyof typeof openTo): Demands {
  return openTo[reason]
}

export const aboutGateway = demandsNothing(
  'it shows the gateway itself and no application',
  'reads',
)
export const sharedKnowledge = demandsNothing(
  'it belongs to no application and no account',
  'reads',
)
export const decidedByService = demandsNothing(
  'only the service behind it knows what this belongs to, and it decides',
)

export const adminOnly: Demands = [{ kind: 'admin', withoutService: 'nobody' }]
export const adminInPerson: Demands = [{ kind: 'admin', withoutService: 'nobody', inPerson: true }]
/** Operations on executions, which are open to all users without a permission service. */
export const adminOfExecutions: Demands = [{ kind: 'admin', withoutService: 'everybody' }]
export const managesAccounts: Demands = [{ kind: 'account-manager' }]

export const readsApplication = application('READ', 'path')
export const writesApplication = application('WRITE', 'path')
export const readsExecution = application('READ', 'execution')
export const executesExecution = application('EXECUTE', 'execution')
export const writesExecution = application('WRITE', 'execution')
export const readsTask = application('READ', 'task')
export const executesTask = application('EXECUTE', 'task')
export const writesTask = application('WRITE', 'task')
/** Streams are made of reads in the name of several callers, so the gateway checks each of them. */
export const streamsExecution: Demands = [
  { kind: 'application', authorization: 'READ', of: 'execution', always: true },
]
export const streamsTask: Demands = [
  { kind: 'application', authorization: 'READ', of: 'task', always: true },
]
export const streamsApplication: Demands = [
  { kind: 'application', authorization: 'READ', of: 'path', always: true },
]
/** A start of a stored definition, named or by the id in the parameter; the body is its trigger. */
export function startsStored(parameter: string): Demands {
  return [...application('EXECUTE', 'started', parameter), { kind: 'trigger' }]
}
export const startsGiven = application('EXECUTE', 'started')
/** The event service starts a pipeline of the application in the path, and no service behind it checks. */
export const startsByEvent: Demands = [
  { kind: 'application', authorization: 'EXECUTE', of: 'path', always: true },
  { kind: 'trigger' },
]
export const readsEventsOfApplication: Demands = [
  { kind: 'application', authorization: 'READ', of: 'path', always: true },
]
export const writesApplicationInBody = application('WRITE', 'body')
export const readsDefinition = application('READ', 'definition', 'pipelineConfigId')
export const readsStrategy = application('READ', 'strategy', 'strategyConfigId')
export const writesNotifications: Demands = [...writesApplication, { kind: 'notifications' }]
export const writesDefinitions: Demands = [{ kind: 'definitions' }]
export const writesFiledDefinitions: Demands = [{ kind: 'filed' }, ...writesDefinitions]
export const submitsJobs: Demands = [{ kind: 'jobs' }]
export const writesPlugins: Demands = [
  { kind: 'named-application', authorization: 'WRITE', application: pluginApplication },
]

export const readsTemplate: Demands = [{ kind: 'template', authorization: 'READ', of: 'path' }]
export const readsTemplateSource: Demands = [
  { kind: 'template', authorization: 'READ', of: 'source' },
]
export const createsTemplate: Demands = [{ kind: 'template', authorization: 'WRITE', of: 'body' }]
const deletesTemplate: Demands = [{ kind: 'template', authorization: 'WRITE', of: 'path' }]
export const deletesFiledTemplate: Demands = [{ kind: 'filed' }, ...deletesTemplate]
export const updatesTemplate: Demands = [...deletesTemplate, ...createsTemplate]

export const readsCanaryConfig = application('READ', 'canary-config')
export const createsCanaryConfig: Demands = [{ kind: 'canary-config' }]
export const deletesCanaryConfig = application('WRITE', 'canary-config')
export const updatesCanaryConfig: Demands = [...deletesCanaryConfig, ...createsCanaryConfig]

export const readsAccount: Demands = [{ kind: 'account', authorization: 'READ', of: 'path' }]
export const writesAccount: Demands = [{ kind: 'account', authorization: 'WRITE', of: 'path' }]
export const readsSharedOfAccount: Demands = [
  { kind: 'account', authorization: 'READ', of: 'path', shared: true },
]
export const readsApplicationOnAccount: Demands = [...readsApplication, ...readsAccount]
export const readsApplicationByAccount: Demands = [
  ...readsApplication,
  { kind: 'filter', by: ['account'], filteredAt: 'clouddriver' },
]
export const readsApplicationByKeyAccount: Demands = [
  ...readsApplication,
  { kind: 'filter', by: ['key-account'], filteredAt: 'clouddriver' },
]

export function application(
  authorization: Authorization,
  of: ApplicationSource,
  parameter?: string,
): Demands {
  return [{ kind: 'application', authorization, of, ...(parameter !== undefined && { parameter }) }]
}

export function filteredBy(...by: readonly FilterField[]): Demands {
  return [{ kind: 'filter', by }]
}

export function readsBuildService(parameter: string): Demands {
  return [{ kind: 'build-service', authorization: 'READ', parameter }]
}

/** Services that own what demands are about. One of them that trusts the gateway makes it check what several may answer. */
const owningServices: readonly ServiceName[] = ['orca', 'front50', 'clouddriver', 'igor']

export function isAlwaysDemanded(demand: Demand): boolean {
  return (
    demand.kind === 'admin' ||
    demand.kind === 'named-application' ||
    (demand.kind === 'application' && demand.always === true)
  )
}

/** Whether the gateway itself checks what an operation demands; otherwise the service behind it does. */
export function checksAtGateway(
  demands: Demands,
  service: ServiceName | undefined,
  { permissions, upstreams }: Pick<Platform, 'permissions' | 'upstreams'>,
): boolean {
  if (demands[0].kind === 'nothing') return false
  if (permissions.enforcement !== 'services') return true
  return (service === undefined ? owningServices : [service]).some(
    (one) => upstreams.traitsOf(one).trustsGateway,
  )
}

export function formatDemands(demands: Demands): string {
  const lines = [...new Set(demands.map(formatDemand))]
  return (demands.every(({ kind }) => kind === 'filter') ? ['nothing', ...lines] : lines).join('; ')
}

function formatDemand(demand: Demand): string {
  switch (demand.kind) {
    case 'nothing':
      return `nothing: ${demand.why}`
    case 'admin':
      return demand.inPerson
        ? 'an administrator who is logged in, and no API token'
        : 'an administrator'
    case 'account-manager':
      return 'an administrator or account manager'
    case 'application':
      return `${demand.authorization} on the application ${placeOf(demand.of)}`
    case 'filed':
      return 'WRITE on the application in the query, if it exists'
    case 'named-application':
      return `${demand.authorization} on the application ${demand.application}, an administrator if it does not exist`
    case 'account':
      return `${demand.authorization} on the account in the ${demand.of}`
    case 'build-service':
      return `${demand.authorization} on the build service`
    case 'template':
      return demand.authorization === 'READ'
        ? 'READ on an application among the scopes of the template, nothing for a shared one'
        : `WRITE on the applications among the scopes of the template in the ${demand.of}, an administrator for a shared one`
    case 'notifications':
      return 'an administrator for the settings of all applications'
    case 'definitions':
      return 'WRITE on the applications of the definitions, as they are and as they will be, and their service accounts'
    case 'canary-config':
      return 'WRITE on the applications of the canary configuration in the body, an administrator for one of none'
    case 'trigger':
      return 'READ on the application of the execution that the trigger names as its parent'
    case 'jobs':
      return 'what each job needs: WRITE on its applications and accounts, CREATE for a new application'
    case 'filter':
      return `entries that the caller may not READ are left out (by ${demand.by.join(' and ').replaceAll('key-account', 'account').replaceAll('-', ' ')})`
  }
}

export function placeOf(of: ApplicationSource): string {
  if (of === 'path' || of === 'query' || of === 'body') return `in the ${of}`
  return of === 'started'
    ? 'of the definition that is started'
    : `of the ${of.replace('canary-config', 'canary configuration')}`
}
