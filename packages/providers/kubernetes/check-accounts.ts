/** Examines accounts: which cluster answers, its version, and which rights are missing. */

import { type Check, createCheck, type Finding, type Reporter, type Timeouts } from '@fairlead/base/findings/finding.ts'
import { fieldAt, textOf } from '@fairlead/base/json/values.ts'
import { loadClusterAccess } from './account-client.ts'
import { KubeClient } from './api/client.ts'
import type { ClusterAccess } from './api/cluster-access.ts'
import { describeRights, findMissingRights, formatGrant, type NeededRight } from './needed-rights.ts'
import type { KubernetesAccountSettings, KubernetesSettings } from './settings.ts'

export function checkAccounts({ accounts, execCommands }: KubernetesSettings, { answerMs }: Timeouts): Check[] {
  return accounts.map((account) =>
    createCheck(`Kubernetes account ${account.name}`, async (report) => {
      const access = await loadClusterAccess(account).catch((error: unknown) => error as Error)
      if (access instanceof Error) {
        return [report.problem('read its kubeconfig', access.message, 'correct kubeconfigFile or context of the account')]
      }
      const client = new KubeClient(access, { requestTimeoutMs: answerMs, execCommands, retries: { maxAttempts: 1, pauseMs: 0 } })
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

async function examine(client: KubeClient, { account, access, report }: Examined): Promise<Finding[]> {
  const tried = `ask ${access.server} for its version`
  const version = await client.read('/version').catch((error: unknown) => error as Error)
  if (version instanceof Error) {
    const advice = 'see whether the API server runs and can be reached from here, and whether the credentials are valid'
    return [report.problem(tried, version.message, advice)]
  }
  const { namespaces } = account
  const places = namespaces.length === 0 ? [undefined] : namespaces
  const missing = await Promise.all(places.map((namespace) => findMissingRights(client, namespace)))
  return [
    report.ok(tried, `it answers as Kubernetes ${textOf(fieldAt(version, 'gitVersion')) ?? 'of an unknown version'}`),
    ...(await judgeRights(distinct(missing.flat()), { client, namespaces, report })),
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

async function judgeRights(missing: readonly NeededRight[], { client, namespaces, report }: RightsContext): Promise<Finding[]> {
  const tried = 'ask which verbs its role has'
  if (missing.length === 0) return [report.ok(tried, 'all that Fairlead uses')]
  const user = await loadUserName(client)
  const grant = formatGrant(user, namespaces)
  return [report.warning(tried, `${user} lacks: ${describeRights(missing)}`, `apply this if users need it:\n${grant}`)]
}

/** As the API server knows Fairlead. */
async function loadUserName(client: KubeClient): Promise<string> {
  const review = { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }
  const answer = await client.post('/apis/authentication.k8s.io/v1/selfsubjectreviews', review).catch(() => undefined)
  return textOf(fieldAt(answer, 'status', 'userInfo', 'username')) ?? 'fairlead'
}
