/** Which of a user's service accounts may be used for an application. */
import { setTimeout as wait } from 'node:timers/promises'
import { readJson, type UpstreamAnswer } from '../upstreams/upstreams.ts'
import { parsePermissionView } from './permission-view.ts'

const attempts = 3
const pauseMs = 50

/**
 * Names of the service accounts whose own view lists the application with one of the authorizations; undefined when
 * nobody can say.
 *
 * @param load Asks for the expanded list, an array of permission views
 * @see authentication contract, section 4.9
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
      return fittingAccounts(readJson(answer, 'fiat'), application.trim().toLowerCase(), authorizations)
    } catch {
      if (attempt < attempts) await wait(pauseMs)
    }
  }
  return undefined
}

function fittingAccounts(body: unknown, application: string, authorizations: readonly string[]): string[] {
  if (!Array.isArray(body)) return []
  return body
    .map((entry) => parsePermissionView(entry, ''))
    .filter(({ applications }) =>
      applications.some(
        (entry) => entry.name.toLowerCase() === application && entry.authorizations.some((word) => authorizations.includes(word)),
      ),
    )
    .map(({ name }) => name)
    .filter((name) => name !== '')
}
