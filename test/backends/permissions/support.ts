/** A permission service with resources of its own, and the files that give it roles. */
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { permissionsBackend } from '../../../packages/engine/permissions/permissions.ts'
import {
  defaultPermissionService,
  type PermissionServiceSettings,
} from '../../../packages/engine/permissions/settings.ts'
import type { View } from '../../../packages/engine/permissions/view.ts'
import type { ServiceAnswer } from '../../../packages/ports/service-call.ts'
import { startBackends } from '../../support/backends.ts'
import { waitUntil } from '../../support/wait-until.ts'

export interface ServiceOptions {
  permissions?: Partial<PermissionServiceSettings>
  /** Answers of the definition store and the other services by path, without the query; everything else is an empty list. */
  declared?: Readonly<Record<string, unknown>>
  dataDir?: string
  now?: () => number
}

export async function startService(
  t: TestContext,
  { permissions = {}, declared = {}, dataDir, now }: ServiceOptions = {},
) {
  const lines: Record<string, unknown>[] = []
  let changes = 0
  const backends = await startBackends(t, [permissionsBackend], {
    dataDir,
    now,
    log: (line) => lines.push(line),
    onPermissionsChanged: () => {
      changes++
    },
    settings: { permissions: { ...defaultPermissionService, ...permissions } },
    others: async (_service, { path }): Promise<ServiceAnswer> => {
      const answer = declared[path.replace(/\?.*/, '')] ?? []
      if (answer instanceof Error) throw answer
      return { status: 200, body: answer }
    },
  })
  const ask = (method: string, path: string, body?: unknown) =>
    backends.ask('fiat', method, path, body)
  const viewOf = async (user: string) => (await ask('GET', `/authorize/${user}`)).body as View
  const rolesOf = async (user: string) =>
    (await viewOf(user)).roles.map(({ name, source }) => `${name} ${source}`).sort()
  return { ask, viewOf, rolesOf, stop: backends.stop, lines, changes: () => changes }
}

/** A file that lists users with roles, and is put in its place as a whole, as careful people and Kubernetes do. */
export function createRoleFile(t: TestContext, users: Readonly<Record<string, readonly string[]>>) {
  const folder = mkdtempSync(join(tmpdir(), 'fairlead-roles-'))
  t.after(() => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, 'roles.yml')
  const writeText = (text: string) => {
    writeFileSync(`${path}.new`, text)
    renameSync(`${path}.new`, path)
  }
  const write = (users: Readonly<Record<string, readonly string[]>>) =>
    writeText(
      JSON.stringify({
        users: Object.entries(users).map(([username, roles]) => ({ username, roles })),
      }),
    )
  write(users)
  return { path, folder, write, writeText }
}

/** Asks again until the answer is the one that is waited for; fails when it never comes. */
export async function until(isSo: () => Promise<boolean>): Promise<void> {
  await waitUntil(isSo, 'the answer')
}
