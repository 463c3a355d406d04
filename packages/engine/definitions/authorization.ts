/**
 * Authorization of changes to definitions. The gateway has judged its own requests already; this is for later runs: a stage of
 * a pipeline acts with the rights that its user has at that moment, and not at the moment of saving.
 */

import { fieldAt, type JsonObject, objectOf, objectsOf, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { type DocumentStore, foldName } from '@fairlead/base/stores/document-store.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { isReadMethod } from '@fairlead/base/telemetry/methods.ts'
import { pipelineOf } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { type Access, checkOnApplication, describeMissing } from '@fairlead/ports/access.ts'
import { PortError } from '@fairlead/ports/port-error.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { SecretOwner } from '../secrets/routes.ts'
import type { Definitions } from './collections.ts'
import { createTriggersOf, type TriggersOf } from './effective-triggers.ts'

interface Rights {
  readonly access: Access
  /** Triggers of a definition, also those that it inherits. */
  readonly triggersOf: TriggersOf
  /** What the service accounts may do that triggers in the body run as, by folded name. */
  readonly serviceAccounts: ReadonlyMap<string, Access>
}

const rights = new WeakMap<FastifyRequest, Rights>()

/** Learns what the caller may do before a route runs, so that a route checks and writes in one step. */
export function learnRights(app: FastifyInstance, { context, templates }: Definitions): void {
  app.addHook('preHandler', async (request) => {
    const { user } = trustedCallerOf(request)
    // Without a user it is another part of this process that asks, on its own behalf.
    if (user === undefined || context.settings.authorization !== true || !isJudged(request)) return
    const access = await requireAccess(context, user)
    const triggersOf = createTriggersOf(templates)
    const names = runAsUsers(request.body, triggersOf)
    const accounts = await callInTurns(names, (name) => requireAccess(context, name))
    rights.set(request, {
      access,
      triggersOf,
      serviceAccounts: new Map(names.map((name, index) => [foldName(name), accounts[index] as Access])),
    })
  })
}

/** Reads are judged by the gateway, which filters them; only templates are read by runs in the name of their user. */
function isJudged({ method, url }: FastifyRequest): boolean {
  return !isReadMethod(method) || /\/pipelineTemplates\//.test(url)
}

function runAsUsers(body: unknown, triggersOf: TriggersOf): string[] {
  const definitions = Array.isArray(body) ? objectsOf(body) : [objectOf(body)]
  return [...new Set(definitions.flatMap((definition) => runAsUsersOf(triggersOf(definition))))]
}

function runAsUsersOf(triggers: readonly JsonObject[]): string[] {
  const names = triggers.map((trigger) => trigger['runAsUser'])
  return names.filter((name) => typeof name === 'string').flatMap((name) => name.trim() || [])
}

/** What the caller may do; undefined for another part of this process. */
export function writerAccessOf(request: FastifyRequest): Access | undefined {
  return rights.get(request)?.access
}

/** @throws {PortError} 403 */
export function checkWriter(request: FastifyRequest, application: unknown): void {
  const access = writerAccessOf(request)
  const name = textOf(application)?.trim()
  if (access !== undefined && name) checkOnApplication(access, name, 'WRITE')
}

/** @throws {PortError} 403 */
export function checkSecretWriter(request: FastifyRequest, { kind, name }: SecretOwner): void {
  const access = writerAccessOf(request)
  if (kind === 'application') checkWriter(request, name)
  else if (access?.mayOnAccount(name, 'WRITE') === false) throw changeDenied(`This needs WRITE on the account ${name}.`)
}

/** @throws {PortError} 403 */
export function checkAdministrator(request: FastifyRequest): void {
  const access = writerAccessOf(request)
  if (access === undefined || access.isAdmin) return
  throw changeDenied(`Only administrators may do this, and ${access.user} is not an administrator.`)
}

/**
 * Saving a definition needs WRITE on its application and, if it is moved, on the one that it leaves. Triggers, own and inherited,
 * may run as a service account that the caller may use, and that may execute there.
 *
 * @see docs/contracts/definitions.md#rules-of-a-save
 *
 * @throws {PortError} 403
 */
export function checkSaver(request: FastifyRequest, store: DocumentStore, definition: JsonObject): void {
  const known = rights.get(request)
  if (known === undefined) return
  const { id, application } = definition
  checkWriter(request, application)
  if (typeof id === 'string' && id !== '') checkWriter(request, store.get(foldName(id))?.['application'])
  for (const name of runAsUsersOf(known.triggersOf(definition))) {
    checkServiceAccount(known.access, name)
    const account = known.serviceAccounts.get(foldName(name))
    if (account === undefined || account.mayOnApplication(String(application), 'EXECUTE')) continue
    throw changeDenied(describeMissing(account, 'EXECUTE', String(application)))
  }
}

function checkServiceAccount(access: Access, name: string): void {
  if (!access.mayUse(name)) throw changeDenied(`${access.user} may not use the service account ${name}: a role is missing.`)
}

/** Instances inherit triggers, and with them the service accounts that these run as. @throws {PortError} 403 */
export function checkTemplateTriggers(request: FastifyRequest, template: JsonObject): void {
  const access = writerAccessOf(request)
  if (access === undefined) return
  for (const name of runAsUsersOf(objectsOf(pipelineOf(template)['triggers']))) checkServiceAccount(access, name)
}

/** Templates belong to the applications that they name as their scopes; the others are shared, and administrators change them. */
export function checkTemplateWriter(request: FastifyRequest, templates: readonly (JsonObject | undefined)[]): void {
  for (const template of templates) {
    if (template === undefined) continue
    const scopes = scopesOf(template)
    if (isShared(scopes)) checkAdministrator(request)
    for (const scope of scopes.filter((name) => !isGlobal(name))) checkWriter(request, scope)
  }
}

/** @throws {PortError} 403 */
export function checkTemplateReader(request: FastifyRequest, template: JsonObject): void {
  const access = writerAccessOf(request)
  const scopes = scopesOf(template)
  if (access === undefined || isShared(scopes)) return
  if (scopes.some((scope) => access.mayOnApplication(scope, 'READ'))) return
  throw changeDenied(describeMissing(access, 'READ', scopes[0] as string))
}

function scopesOf(template: JsonObject): string[] {
  const scopes = textsOf(fieldAt(template, 'metadata', 'scopes')).map((scope) => scope.trim())
  return scopes.filter((scope) => scope !== '')
}

function isShared(scopes: readonly string[]): boolean {
  return scopes.length === 0 || scopes.some(isGlobal)
}

function isGlobal(scope: string): boolean {
  return foldName(scope) === 'global'
}

export function changeDenied(message: string): PortError {
  return new PortError(403, message, { exception: 'AccessDenied' })
}
