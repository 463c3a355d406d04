/** Routes of secrets: lists without values, new values, removal, uses. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { maskFormsOf } from '@fairlead/model/secrets/mask-forms.ts'
import { secretNamePattern } from '@fairlead/model/secrets/secret-references.ts'
import { userOf } from '@fairlead/ports/requests/request-caller.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { type SecretEntry, scopeOf } from './secret-store.ts'
import type { SecretReport, Secrets } from './secrets.ts'

type SecretOwnerKind = 'application' | 'account'

export interface SecretOwner {
  readonly kind: SecretOwnerKind
  readonly name: string
}

const maxBytes = 64 * 1024
const maxNoteLength = 500

const NewValue = z.object({
  value: z
    .string('it must be a text')
    .min(1, 'it must not be empty')
    .refine(
      (text) => Buffer.byteLength(text) <= maxBytes,
      `it must not have more than ${maxBytes} bytes`,
    )
    .refine((text) => text.isWellFormed(), 'it contains half of a character'),
  note: z.string().max(maxNoteLength).nullish(),
})

/** @param checkWriter Rejects unless the caller may change secrets of the owner */
export function secretRoutes(
  app: FastifyInstance,
  secrets: Secrets,
  checkWriter: (request: FastifyRequest, owner: SecretOwner) => Promise<void>,
): void {
  app.get('/secrets/:kind/:owner', (request) => {
    const owner = ownerOf(request)
    const list = secrets.list(scopeOf(owner.kind, owner.name))
    return list.map(({ entry, lastUseMs }) => ({
      ...toView(entry, owner),
      lastUseTime: lastUseMs ?? null,
    }))
  })

  app.put('/secrets/:kind/:owner/:name', async (request) => {
    const owner = ownerOf(request)
    await checkWriter(request, owner)
    const { value, note } = parseValue(request.body)
    const scope = scopeOf(owner.kind, owner.name)
    const entry = secrets.set(scope, nameOf(request), {
      value,
      note: note ?? undefined,
      user: userOf(request),
    })
    return { ...toView(entry, owner), isMasked: maskFormsOf(value).length > 0 }
  })

  app.delete('/secrets/:kind/:owner/:name', async (request, reply) => {
    const owner = ownerOf(request)
    await checkWriter(request, owner)
    const name = pathValue(request, 'name')
    if (!secrets.remove(scopeOf(owner.kind, owner.name), name)) throw missing(name, owner)
    return reply.code(204).send()
  })

  app.get('/secrets/:kind/:owner/:name/uses', (request) => {
    const owner = ownerOf(request)
    const name = pathValue(request, 'name')
    const report = secrets.report(scopeOf(owner.kind, owner.name), name)
    if (report === undefined) throw missing(name, owner)
    return toReportView(report, owner)
  })
}

function ownerOf(request: FastifyRequest): SecretOwner {
  const kind = pathValue(request, 'kind')
  if (kind === 'application' || kind === 'account')
    return { kind, name: pathValue(request, 'owner') }
  throw new PortError(404, `Secrets belong to an "application" or an "account", not to "${kind}".`)
}

/** @throws {PortError} 400 */
function nameOf(request: FastifyRequest): string {
  const name = pathValue(request, 'name')
  if (secretNamePattern.test(name)) return name
  throw new PortError(
    400,
    'The name of a secret has 1 to 128 letters of A to Z, digits, dots, hyphens and underscores, and begins with a letter or digit.',
  )
}

/** Never quotes what was sent. @throws {PortError} 400 */
function parseValue(body: unknown): z.output<typeof NewValue> {
  const { success, data, error } = NewValue.safeParse(body)
  if (success) return data
  throw new PortError(400, `The secret was not set. ${describeIssues(error)}.`)
}

function missing(name: string, { kind, name: owner }: SecretOwner): PortError {
  return new PortError(404, `The ${kind} ${owner} has no secret "${name}".`)
}

function toView(
  { name, version, setMs, setBy, note }: SecretEntry,
  owner: SecretOwner,
): JsonObject {
  return {
    name,
    scope: owner.kind,
    owner: owner.name,
    version,
    setTime: setMs,
    setBy,
    note: note ?? null,
  }
}

function toReportView({ entry, uses, holders }: SecretReport, owner: SecretOwner): JsonObject {
  const isCurrent = (version: number) => version === entry.version
  return {
    ...toView(entry, owner),
    running: [
      ...holders.map(({ place, version, count }) => ({
        place,
        version,
        count,
        isCurrent: isCurrent(version),
      })),
      ...uses
        .filter(({ isRunning }) => isRunning)
        .map(({ place, version }) => ({ place, version, count: 1, isCurrent: isCurrent(version) })),
    ],
    uses: uses.map(({ version, place, user, firstMs, lastMs, count }) => ({
      version,
      isCurrent: isCurrent(version),
      place,
      user,
      count,
      firstTime: firstMs,
      lastTime: lastMs,
    })),
  }
}
