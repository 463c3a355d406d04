/** Schema of an application's permissions, for the definition store and for task stages. */

import { describeChoice } from '@fairlead/base/names/edit-distance.ts'
import { describeIssue } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'

/** Bound of Fiat's store. */
const maxRoleLength = 255
const roles = z.array(z.string().max(maxRoleLength)).nullish()
const grants = { READ: roles, WRITE: roles, EXECUTE: roles, CREATE: roles }
export const PermissionFields = z.looseObject({
  name: z.string().nullish(),
  permissions: z
    .strictObject(grants, {
      error: ({ code, keys }) =>
        code === 'unrecognized_keys'
          ? describeChoice(String(keys?.[0]), 'a permission', Object.keys(grants)).replace(
              /\.$/,
              '',
            )
          : undefined,
    })
    .nullish(),
  requiredGroupMembership: roles,
})
export type PermissionFields = z.infer<typeof PermissionFields>

/** What is wrong with the permissions of an application that are about to be saved: a sentence, or undefined. */
export function describePermissionsProblem(permissions: unknown): string | undefined {
  const checked = PermissionFields.shape.permissions.safeParse(permissions)
  const [issue] = checked.error?.issues ?? []
  if (issue === undefined) return undefined
  return `${['permissions', ...issue.path].join('.')}: ${describeIssue(issue)}.`
}
