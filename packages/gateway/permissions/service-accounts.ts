/** Service accounts, and those that a user may use for an application. */
import { setTimeout as wait } from 'node:timers/promises'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parsePermissionView } from '@fairlead/model/rights/permission-view.ts'
import type { PermissionView } from '@fairlead/model/rights/permissions.ts'
import { jsonList, readJson, type UpstreamAnswer } from '../upstreams/answer-form.ts'
import { anonymousIdentity } from '../upstreams/identity.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

const attempts = 3
const pauseMs = 50

/**
 * Names of the service accounts whose own view lists the application with one of the authorizations; undefined when
 * the permission service is unavailable.
 *
 * @param load Asks for the expanded list, an array of permission views
 * @see docs/contracts/permissions.md#service-accounts
 */
export async function loadServiceAccounts(
  load: () => Promise<UpstreamAnswer>,
  application: string,
  authorizations: readonly string[],
): Promise<string[] | undefined> {
  for (let attempt = 1; attempt <= attempts; attempt++) {
    try {
      const answer = await load()
      if (answer.status >= 400 && answer.status < 500) return undefined
      return fittingAccounts(readJson(answer, 'fiat', jsonList), application, authorizations)
    } catch {
      if (attempt < attempts) await wait(pauseMs)
    }
  }
  return undefined
}

function fittingAccounts(
  body: unknown,
  application: string,
  authorizations: readonly string[],
): string[] {
  if (!Array.isArray(body)) return []
  const wanted = foldName(application)
  return body
    .flatMap((entry) => findPermissionView(entry) ?? [])
    .filter(({ applications }) =>
      applications.some(
        (entry) =>
          foldName(entry.name) === wanted &&
          entry.authorizations.some((word) => authorizations.includes(word)),
      ),
    )
    .map(({ name }) => name)
    .filter((name) => name !== '')
}

function findPermissionView(entry: unknown): PermissionView | undefined {
  try {
    return parsePermissionView(entry, '')
  } catch {
    return undefined
  }
}

export async function loadServiceAccountNames(upstreams: Upstreams): Promise<string[]> {
  if (!upstreams.isEnabled('front50')) return []
  const answer = await upstreams.call('front50', { path: '/serviceAccounts' }, anonymousIdentity)
  const accounts = readJson(answer, 'front50', jsonList)
  if (!Array.isArray(accounts)) return []
  return accounts
    .map((account) => (account as { name?: unknown } | null)?.name)
    .filter((name) => typeof name === 'string')
}
