/** Permissions of applications: which roles may do what. The application itself need not exist yet. */

import { formatJson } from '@fairlead/base/json/json.ts'
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import { parseDocument } from '@fairlead/base/stores/document-store.ts'
import { flatMapInTurns } from '@fairlead/base/stores/in-turns.ts'
import { checkBody } from '@fairlead/ports/requests/check-body.ts'
import { pathValue } from '@fairlead/ports/requests/request-values.ts'
import { PermissionFields } from '@fairlead/ports/rights/application-permissions.ts'
import type { FastifyInstance } from 'fastify'
import { toPermissions } from '../permissions/authorizations.ts'
import { checkNewName } from './application-names.ts'
import { checkWriter, type Writer, writerOf } from './authorization.ts'
import type { Definitions } from './collections.ts'
import { refusal, sendStored, sendTexts } from './requests.ts'
import { refreshRoles } from './role-refresh.ts'

type RolesByRight = Record<string, string[]>

export function isRestricted(record: JsonObject): boolean {
  return Object.keys(record['permissions'] as RolesByRight).length > 0
}

export function permissionRoutes(app: FastifyInstance, definitions: Definitions): void {
  const { permissions } = definitions

  app.get('/permissions/applications', async (_request, reply) =>
    sendTexts(reply, await listPermissions(definitions)),
  )

  app.get('/permissions/removedApplications', () => removedRestrictions(definitions))

  app.get('/permissions/applications/:name', (_request, reply) =>
    sendStored(reply, 'name', permissions, 'permission record of'),
  )

  app.post('/permissions/applications', async (request) => {
    const { name } = checkBody(PermissionFields, request.body)
    if (!name?.trim()) throw refusal('The field "name", the application, is missing.')
    return savePermissions(definitions, await writerOf(definitions, request), name, request.body)
  })
  app.route({
    method: ['POST', 'PUT'],
    url: '/permissions/applications/:name',
    handler: async (request) =>
      savePermissions(
        definitions,
        await writerOf(definitions, request),
        pathValue(request, 'name'),
        request.body,
      ),
  })

  app.delete('/permissions/applications/:name', async (request) =>
    removePermissions(
      definitions,
      await writerOf(definitions, request),
      pathValue(request, 'name'),
    ),
  )
}

export async function removePermissions(
  definitions: Definitions,
  writer: Writer,
  name: string,
): Promise<void> {
  const { permissions, write } = definitions
  const key = foldName(name)
  checkWriter(writer, key)
  const before = permissions.get(key)
  write(() => permissions.remove(key))
  if (before !== undefined) await refreshRoles(definitions, rolesOf(before))
}

const generated = { permissions: {}, lastModified: -1, lastModifiedBy: 'auto-generated' }

export async function listPermissions({
  permissions,
  applications,
}: Definitions): Promise<string[]> {
  const records = await permissions.textsByKey()
  const others = [...(await applications.textsByKey())].filter(([key]) => !records.has(key))
  // An application without a record is open, so records that were written meanwhile count.
  const open = await flatMapInTurns(others, ([key, text]) => [
    permissions.text(key) ?? formatJson({ name: parseDocument(text)['name'], ...generated }),
  ])
  return [...records.values(), ...open]
}

export async function savePermissions(
  definitions: Definitions,
  writer: Writer,
  name: string,
  sent: unknown,
): Promise<JsonObject> {
  const { permissions, applications } = definitions
  const body = checkBody(PermissionFields, sent)
  if (!isFresh(definitions, writer, name)) checkWriter(writer, name)
  const given = body.name || name
  const key = foldName(name)
  if (foldName(given) !== key)
    throw refusal(`The name in the body, "${given}", is not that of the path, "${name}".`)
  const stored = permissions.get(key)
  if (stored === undefined && !applications.has(key)) checkNewName(name)
  const legacy = body.requiredGroupMembership
  const record = {
    name: given,
    permissions: toPermissions(body.permissions ?? { READ: legacy, WRITE: legacy }),
  }
  const saved = definitions.write(() => permissions.put(key, record, writer.user))
  await refreshRoles(definitions, [...rolesOf(stored), ...rolesOf(record)])
  return saved
}

/**
 * The last permissions of applications that were deleted. Their executions and revisions are kept: without this the deletion
 * would open all of it to all users, or give it to the next owner of the name.
 */
export function removedRestrictions({ permissions, applications }: Definitions): JsonObject[] {
  return permissions.removed().filter((record) => {
    const key = foldName(String(record['name']))
    return isRestricted(record) && !applications.has(key) && applications.history(key, 1).length > 0
  })
}

/** The creator of an application sets its first permissions, whatever rules for names of applications say. */
function isFresh(
  { applications, permissions }: Definitions,
  { access }: Writer,
  name: string,
): boolean {
  const key = foldName(name)
  const user = access?.user
  return (
    user !== undefined &&
    !permissions.has(key) &&
    applications.get(key)?.['lastModifiedBy'] === user
  )
}

function rolesOf(record: JsonObject | undefined): string[] {
  return record === undefined ? [] : Object.values(record['permissions'] as RolesByRight).flat()
}
