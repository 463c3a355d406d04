/** Rights that Fairlead's user needs on an API server, which of them it lacks, and the YAML that grants them. */

import {
  type Check,
  createCheck,
  type Finding,
  type Reporter,
  type Timeouts,
} from '@fairlead/base/findings/finding.ts'
import { or, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, textOf } from '@fairlead/base/json/values.ts'
import { Document, isScalar, visit } from 'yaml'
import { loadClusterAccess } from './account-client.ts'
import { KubeClient } from './api/client.ts'
import type { ClusterAccess } from './api/cluster-access.ts'
import type { ClusterApi } from './api/cluster-api.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

interface NeededRight {
  /** Empty for the core group. */
  readonly group: string
  readonly resource: string
  readonly verb: string
  readonly isClusterWide?: true
}

const reads = ['get', 'list', 'watch']
const writes = ['create', 'patch', 'update', 'delete']

/** By group: resources, separated by blanks, with their verbs. */
const rows: readonly (readonly [
  group: string,
  resources: string,
  verbs: readonly string[],
  isClusterWide?: true,
])[] = [
  ['', 'pods services', [...reads, ...writes]],
  ['', 'configmaps secrets', ['get', 'list', ...writes]],
  ['', 'events', ['list', 'watch']],
  ['', 'pods/log', ['get']],
  ['apps', 'deployments replicasets statefulsets daemonsets', [...reads, ...writes]],
  ['apps', 'deployments/scale replicasets/scale statefulsets/scale', ['get', 'patch', 'update']],
  ['apps', 'controllerrevisions', ['get', 'list']],
  ['batch', 'jobs cronjobs', [...reads, ...writes]],
  ['networking.k8s.io', 'ingresses networkpolicies', [...reads, ...writes]],
  ['metrics.k8s.io', 'pods', ['get', 'list']],
  ['', 'namespaces', ['list', 'watch'], true],
  ['apiextensions.k8s.io', 'customresourcedefinitions', ['list'], true],
]

/** @param hasNamespaces Whether the account names its namespaces: cluster-wide lists are not needed then */
function neededRights(hasNamespaces: boolean): NeededRight[] {
  return rows.flatMap(([group, resources, verbs, isClusterWide]) => {
    if (isClusterWide && hasNamespaces) return []
    return resources
      .split(' ')
      .flatMap((resource) =>
        verbs.map((verb) => ({ group, resource, verb, ...(isClusterWide && { isClusterWide }) })),
      )
  })
}

/** Asks the API server about each right. @param namespace Undefined: in all namespaces @throws {ApiError} */
async function findMissingRights(
  api: ClusterApi,
  namespace: string | undefined,
): Promise<NeededRight[]> {
  const needed = neededRights(namespace !== undefined)
  const allowed = await Promise.all(needed.map((right) => isAllowed(api, right, namespace)))
  return needed.filter((_, index) => allowed[index] !== true)
}

const toReview = shape({
  status: shape({ allowed: isTrue, userInfo: shape({ username: or(textOf, 'fairlead') }) }),
})
const toVersion = shape({ gitVersion: or(textOf, 'of an unknown version') })

async function isAllowed(
  api: ClusterApi,
  { group, resource, verb, isClusterWide }: NeededRight,
  namespace: string | undefined,
): Promise<boolean> {
  const [name, subresource] = resource.split('/')
  const place = isClusterWide ? {} : { namespace: namespace ?? '' }
  const resourceAttributes = {
    group,
    resource: name,
    ...(subresource && { subresource }),
    verb,
    ...place,
  }
  const review = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  }
  const answer = await api.post('/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)
  return toReview(answer).status.allowed
}

/** `list, watch pods; get secrets`: what is missing, in few words. */
function describeRights(rights: readonly NeededRight[]): string {
  const byVerbs = Map.groupBy(groupByResource(rights), ({ verbs }) => verbs.join(', '))
  return [...byVerbs]
    .map(([verbs, of]) => `${verbs} ${of.map(({ resource }) => resource).join(', ')}`)
    .join('; ')
}

/**
 * A role with all rights, since applying it replaces one that was granted before, and the user's binding.
 *
 * @param user As the API server knows Fairlead
 * @param namespaces Empty: all
 */
function formatGrant(user: string, namespaces: readonly string[]): string {
  const rights = neededRights(namespaces.length > 0)
  const rules = [
    ...Map.groupBy(groupByResource(rights), ({ group, verbs }) =>
      JSON.stringify([group, verbs]),
    ).values(),
  ].map((alike) => ({
    apiGroups: [alike[0]?.group ?? ''],
    resources: alike.map(({ resource }) => resource),
    verbs: [...(alike[0]?.verbs ?? [])],
  }))
  const group = 'rbac.authorization.k8s.io'
  const kind = namespaces.length === 0 ? 'ClusterRole' : 'Role'
  const places = namespaces.length === 0 ? [{}] : namespaces.map((namespace) => ({ namespace }))
  return places
    .flatMap((place) => {
      const metadata = { name: 'fairlead', ...place }
      return [
        { apiVersion: `${group}/v1`, kind, metadata, rules },
        {
          apiVersion: `${group}/v1`,
          kind: `${kind}Binding`,
          metadata: { ...metadata, name: `fairlead-${user.replaceAll(/[/%]/g, '-')}` },
          roleRef: { apiGroup: group, kind, name: 'fairlead' },
          subjects: [subjectOf(user)],
        },
      ]
    })
    .map(formatObject)
    .join('---\n')
}

/** Lists of texts take a line each. */
function formatObject(object: object): string {
  const document = new Document(object)
  visit(document, {
    Seq(_key, list) {
      list.flow = list.items.every(isScalar)
    },
  })
  return document.toString({ lineWidth: 0 })
}

function subjectOf(user: string): Record<string, string> {
  const [, namespace, name] = /^system:serviceaccount:([^:]+):([^:]+)$/.exec(user) ?? []
  if (namespace !== undefined && name !== undefined)
    return { kind: 'ServiceAccount', namespace, name }
  return { apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }
}

interface ResourceVerbs {
  readonly group: string
  readonly resource: string
  readonly verbs: readonly string[]
}

function groupByResource(rights: readonly NeededRight[]): ResourceVerbs[] {
  return [...Map.groupBy(rights, ({ group, resource }) => `${group}/${resource}`).values()].map(
    (alike) => ({
      group: alike[0]?.group ?? '',
      resource: alike[0]?.resource ?? '',
      verbs: alike.map(({ verb }) => verb),
    }),
  )
}

export function checkAccounts(
  { accounts, execCommands }: KubernetesSettings,
  { answerMs }: Timeouts,
): Check[] {
  return accounts.map((account) =>
    createCheck(`Kubernetes account ${account.name}`, async (report) => {
      const access = await loadClusterAccess(account).catch((error: unknown) => error as Error)
      if (access instanceof Error) {
        return [
          report.problem(
            'read its kubeconfig',
            access.message,
            'correct kubeconfigFile or context of the account',
          ),
        ]
      }
      const client = new KubeClient(access, {
        requestTimeoutMs: answerMs,
        execCommands,
        retries: { maxAttempts: 1, pauseMs: 0 },
      })
      try {
        return await examine(client, { account, access, report })
      } finally {
        await client.close()
      }
    }),
  )
}

interface Examined {
  readonly account: KubernetesAccountSettings
  readonly access: ClusterAccess
  readonly report: Reporter
}

async function examine(
  client: KubeClient,
  { account, access, report }: Examined,
): Promise<Finding[]> {
  const tried = `ask ${access.server} for its version`
  const version = await client.read('/version').catch((error: unknown) => error as Error)
  if (version instanceof Error) {
    const advice =
      'see whether the API server runs and can be reached from here, and whether the credentials are valid'
    return [report.problem(tried, version.message, advice)]
  }
  const { namespaces } = account
  const places = namespaces.length === 0 ? [undefined] : namespaces
  const missing = await Promise.all(places.map((namespace) => findMissingRights(client, namespace)))
  return [
    report.ok(tried, `it answers as Kubernetes ${toVersion(version).gitVersion}`),
    ...(await checkRights(distinct(missing.flat()), { client, namespaces, report })),
  ]
}

function distinct(rights: readonly NeededRight[]): NeededRight[] {
  return [...new Map(rights.map((right) => [JSON.stringify(right), right])).values()]
}

interface RightsContext {
  readonly client: KubeClient
  readonly namespaces: readonly string[]
  readonly report: Reporter
}

async function checkRights(
  missing: readonly NeededRight[],
  { client, namespaces, report }: RightsContext,
): Promise<Finding[]> {
  const tried = 'ask which verbs its role has'
  if (missing.length === 0) return [report.ok(tried, 'all that Fairlead uses')]
  const user = await loadUserName(client)
  const grant = formatGrant(user, namespaces)
  return [
    report.warning(
      tried,
      `${user} lacks: ${describeRights(missing)}`,
      `apply this if users need it:\n${grant}`,
    ),
  ]
}

/** Fairlead's name on the API server. */
async function loadUserName(client: KubeClient): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const answer = await client
    .post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review)
    .catch(() => undefined)
  return toReview(answer).status.userInfo.username
}
