/** The user of this process, who has no entry in the list of users in many containers. */
import { userInfo } from 'node:os'

export function ownUser(): { readonly username: string; readonly homedir: string } | undefined {
  try {
    return userInfo()
  } catch {
    return undefined
  }
}
