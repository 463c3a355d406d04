/** The user of this page: boot, the end of the login, and the return from a login in another tab. */
import { signal } from '@preact/signals'
import { to } from '../address.ts'
import { loadStored, store } from '../model/stored.ts'
import { client, type Schemas } from './client.ts'
import { refreshAll } from './live.ts'
import { loginEnded } from './login-state.ts'

type CurrentUser = Schemas['CurrentUser']

/** Undefined until the page knows. */
export const user = signal<CurrentUser | undefined>(undefined)

const channel = new BroadcastChannel('fairlead-console')

/** Who was signed in when this browser last had the console open: most likely, its reads need not wait for the answer who it is. */
export function rememberUser(): boolean {
  user.value = (loadStored('user') ?? undefined) as CurrentUser | undefined
  return user.value !== undefined
}

/** Runs at the end of a login: whoever opens the console next is not shown as this user. */
export function forgetUser(): void {
  store('user', null)
}

/** Resolves to false when the browser leaves for the login, or reads the page again for another user. @throws {ApiError} */
export async function loadUser(): Promise<boolean> {
  const current = await readUser()
  store('user', current ?? null)
  channel.onmessage = () => void returnFromLogin()
  if (current !== undefined) return take(current)
  location.replace(to.login(location.pathname + location.search))
  return false
}

/** An empty body means that the caller is not logged in. */
function readUser(): Promise<CurrentUser | undefined> {
  return client.GET('/auth/user')
}

/** Another user gets a page of their own. */
function take(current: CurrentUser) {
  const isSame = user.value === undefined || user.value.username === current.username
  if (isSame) user.value = current
  else location.reload()
  return isSame
}

/** For the screen that the login in another tab ends at: it wakes the waiting page and closes itself. */
export function reportSignedIn(): void {
  channel.postMessage('signed-in')
  window.close()
}

/** Reads are repeated, changes never. */
export async function returnFromLogin(): Promise<void> {
  const current = await readUser().catch(() => undefined)
  if (current === undefined || !take(current)) return
  loginEnded.value = false
  refreshAll()
}
