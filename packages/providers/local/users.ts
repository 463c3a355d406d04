/** Users of this machine that the processes of accounts run as. */
import { type FileUser, lookUpUser } from '@fairlead/base/storage/directory-trees.ts'
import type { LocalAccountSettings } from './settings.ts'

export function openAccountUsers(accounts: readonly LocalAccountSettings[]) {
  const users = new Map<string, FileUser>()
  const problems = new Map<string, string>()
  for (const { name, user } of accounts) {
    if (user === undefined) continue
    try {
      const found = lookUpUser(user)
      const own = process.getuid?.()
      if (own === 0 || own === found.uid) users.set(name, found)
      else
        problems.set(
          name,
          `The account ${name} runs programs as ${user}, for which Fairlead must run as root.`,
        )
    } catch (error) {
      problems.set(
        name,
        `The account ${name} cannot run programs: ${(error as Error).message}. Correct local.accounts, user.`,
      )
    }
  }
  return {
    of: (account: string) => users.get(account),
    problemOf: (account: string) => problems.get(account),
  }
}

export type AccountUsers = ReturnType<typeof openAccountUsers>
