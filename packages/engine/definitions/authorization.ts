/**
 * Authorization of changes to definitions. The gateway has checked its own requests already; this is for later runs: a stage of
 * a pipeline acts with the rights that its user has at that moment, and not at the moment of saving.
 */

import {
  fieldAt,
  type JsonObject,
  objectOf,
  objectsOf,
  textOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { DocumentStore } from '@fairlead/base/stores/document-store.ts'
import { callInTurns } from '@fairlead/base/stores/in-turns.ts'
import { pipelineOf } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { readPipeline, readTrigger } from '@fairlead/model/pipelines/definition.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import { type Access, checkOnApplication, describeMissing } from '@fairlead/ports/access.ts'
import { anonymous, type Caller } from '@fairlead/ports/caller.ts'
import { trustedCallerOf } from '@fairlead/ports/requests/request-caller.ts'
import { requireAccess } from '@fairlead/ports/rights/access.ts'
import type { FastifyRequest } from 'fastify'
import type { SecretOwner } from '../secrets/routes.ts'
import type { Definitions } from './collections.ts'
import { createTriggersOf, type TriggersOf } from './effective-triggers.ts'

/** A caller whose rights are known, so that a change is checked and written in one step. */
export interface Writer {
  readonly user: string
  /** What the caller may do; undefined for another part of this process, which acts for itself. */
  readonly access?: Access
  /** Triggers of a definition, also those that it inherits. */
  readonly triggersOf: TriggersOf
  /** What the service accounts may do that triggers in the body run as, by folded name. */
  readonly serviceAccounts: ReadonlyMap<string, Access>
}

/** @param body One definition, or a list of them @throws {PortError} 503 while the permission service cannot be asked */
export async function openWriter(
  { context, templates }: Definitions,
  { user }: Caller,
  body?: unknown,
): Promise<Writer> {
  const triggersOf = createTriggersOf(templates)
  const writer = { user: user || anonymous, triggersOf }
  if (user === undefined || context.settings.authorization !== true)
    return { ...writer, serviceAccounts: new Map() }
  const access = await requireAccess(context, user)
  const names = runAsUsers(body, triggersOf)
  const accounts = await callInTurns(names, (name) => requireAccess(context, name))
  return {
    ...writer,
    access,
    serviceAccounts: new Map(names.map((name, at) => [foldName(name), accounts[at] as Access])),
  }
}

export function writerOf(definitions: Definitions, request: FastifyRequest): Promise<Writer> {
  return openWriter(definitions, trustedCallerOf(request), request.body)
}

function runAsUsers(body: unknown, triggersOf: TriggersOf): string[] {
  const definitions = Array.isArray(body) ? objectsOf(body) : [objectOf(body)]
  return [...new Set(definitions.flatMap((definition) => runAsUsersOf(triggersOf(definition))))]
}

function runAsUsersOf(triggers: readonly JsonObject[]): string[] {
  return triggers.flatMap((trigger) => readTrigger(trigger).runAsUser?.trim() || [])
}

/** @throws {PortError} 403 */
export function checkWriter({ access }: Writer, application: unknown): void {
  const name = textOf(application)?.trim()
  if (access !== undefined && name) checkOnApplication(access, name, 'WRITE')
}

/** @throws {PortError} 403 */
export function checkSecretWriter(writer: Writer, { kind, name }: SecretOwner): void {
  if (kind === 'application') checkWriter(writer, name)
  else if (writer.access?.mayOnAccount(name, 'WRITE') === false)
    throw changeDenied(`This needs WRITE on the account ${name}.`)
}

/** @throws {PortError} 403 */
export function checkAdministrator({ access }: Writer): void {
  if (access === undefined || access.isAdmin) return
  throw changeDenied(`Only administrators may do this, and ${access.user} is not an administrator.`)
}

/**
 * Saving a definition needs WRITE on its application and, if it is moved, on the one that it leaves. Triggers, own and inherited,
 * may run as a service account that the caller may use, and that may execute there; for administrators, that is checked when they fire.
 *
 * @see docs/contracts/definitions.md#rules-of-a-save
 *
 * @throws {PortError} 403
 */
export function checkSaver(
  writer: Writer,
  { serviceAccounts: known }: Pick<Definitions, 'serviceAccounts'>,
  store: DocumentStore,
  definition: JsonObject,
): void {
  const { access, triggersOf, serviceAccounts } = writer
  if (access === undefined) return
  const { id, application } = definition
  checkWriter(writer, application)
  if (typeof id === 'string' && id !== '')
    checkWriter(writer, store.get(foldName(id))?.['application'])
  if (access.isAdmin) return
  const held = heldAccounts(writer, known, definition)
  for (const name of runAsUsersOf(triggersOf(definition))) {
    if (held.includes(name)) continue
    checkServiceAccount(access, name)
    const account = serviceAccounts.get(foldName(name))
    if (account === undefined || account.mayOnApplication(String(application), 'EXECUTE')) continue
    throw changeDenied(describeMissing(account, 'EXECUTE', String(application)))
  }
}

/**
 * Service accounts of triggers that wait for a user who may use them: what does not exist yet cannot be checked, and what is disabled does not run.
 */
export function heldAccounts(
  { access, triggersOf }: Writer,
  known: DocumentStore,
  definition: JsonObject,
): string[] {
  const isOff = readPipeline(definition).isDisabled
  return runAsUsersOf(triggersOf(definition)).filter(
    (name) =>
      access?.mayUse(name) === false &&
      !isExpression(name) &&
      (isOff || !known.has(foldName(name))),
  )
}

function checkServiceAccount(access: Access, name: string): void {
  if (!access.mayUse(name))
    throw changeDenied(`${access.user} may not use the service account ${name}: a role is missing.`)
}

/** Instances inherit triggers, and with them the service accounts that these run as. @throws {PortError} 403 */
export function checkTemplateTriggers({ access }: Writer, template: JsonObject): void {
  if (access === undefined) return
  for (const name of runAsUsersOf(readPipeline(pipelineOf(template)).triggers))
    checkServiceAccount(access, name)
}

/** Templates belong to the applications that they name as their scopes; the others are shared, and administrators change them. */
export function checkTemplateWriter(
  writer: Writer,
  templates: readonly (JsonObject | undefined)[],
): void {
  for (const template of templates) {
    if (template === undefined) continue
    const scopes = scopesOf(template)
    if (isShared(scopes)) checkAdministrator(writer)
    for (const scope of scopes.filter((name) => !isGlobal(name))) checkWriter(writer, scope)
  }
}

/** @throws {PortError} 403 */
export function checkTemplateReader({ access }: Writer, template: JsonObject): void {
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
