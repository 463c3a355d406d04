/**
 * To whom pipeline templates belong: to the applications that they name as their scopes. One that names `global`, or nothing,
 * is shared: everybody reads it, administrators change it.
 */
import { undecorated } from '../backends/definitions/template-references.ts'
import { decide, type Need } from '../permissions/decide.ts'
import { foldName } from '../permissions/fold-name.ts'
import type { PermissionView } from '../permissions/permissions.ts'
import type { OperationRequest } from './operation.ts'
import { checkList, type Fields, isFields } from './upstream-shape.ts'

/** Both kinds of templates are kept in one place, and this list has all of them. */
const everyTemplate = '/pipelineTemplates'

/**
 * What is stored under an id. To be read: the version that the request asks for. To be changed: all but the copies that are
 * kept for good under the digest of their content.
 *
 * @throws {GatewayError} UPSTREAM_FAILED, UPSTREAM_UNREADABLE
 */
export async function loadTemplates(request: OperationRequest, id: string, purpose: 'READ' | 'WRITE'): Promise<Fields[]> {
  const templates = checkList(await request.json('front50', { path: everyTemplate }), 'front50')
  const wanted = foldName(undecorated(id))
  const versions = templates.filter((template) => foldName(undecorated(String(template['id'] ?? ''))) === wanted)
  if (purpose === 'WRITE') return versions.filter(({ digest }) => !digest)
  const { tag, digest } = askedVersion(request, id)
  return versions.filter((version) =>
    digest === '' ? !version['digest'] && (version['tag'] ?? '') === tag : version['digest'] === digest,
  )
}

/** The version of the query, or else of the id itself: `web:stable`, `web@sha256:…`. */
function askedVersion({ query }: OperationRequest, id: string): { tag: string; digest: string } {
  const [, kind = '', value = ''] = /^([:@])(?:sha256:)?(.*)$/i.exec(id.slice(undecorated(id).length)) ?? []
  const own = { tag: kind === ':' ? value : '', digest: kind === '@' ? value : '' }
  return { tag: String(query['tag'] ?? own.tag), digest: String(query['digest'] ?? own.digest) }
}

export function needsOfTemplateChange(template: Fields): Need[] {
  const scopes = scopesOf(template)
  const own: Need[] = scopes
    .filter((scope) => !isGlobal(scope))
    .map((name) => ({ kind: 'application', name, authorization: 'WRITE' }))
  return isShared(scopes) ? [{ kind: 'admin' }, ...own] : own
}

/** What is missing to read a template; nothing for whoever may read one of its applications. */
export function needsOfTemplateRead(template: Fields, view: PermissionView | undefined): Need[] {
  const scopes = scopesOf(template)
  if (isShared(scopes)) return []
  const needs = scopes.map((name): Need => ({ kind: 'application', name, authorization: 'READ' }))
  return needs.some((need) => decide(view, need).allowed) ? [] : needs.slice(0, 1)
}

function scopesOf(template: Fields): string[] {
  const metadata = isFields(template['metadata']) ? template['metadata'] : {}
  const scopes = Array.isArray(metadata['scopes']) ? metadata['scopes'] : []
  return scopes.filter((scope) => typeof scope === 'string').flatMap((scope) => scope.trim() || [])
}

function isShared(scopes: readonly string[]): boolean {
  return scopes.length === 0 || scopes.some(isGlobal)
}

function isGlobal(scope: string): boolean {
  return foldName(scope) === 'global'
}
