/** The user of this page: boot, the end of the login, and the return from a login in another tab. */
import { signal } from '@preact/signals'
import { to } from '../address.ts'
import { client, type Schemas, unwrap } from './client.ts'
import { refreshAll } from './live.ts'
import { loginEnded } from './login-state.ts'

export type CurrentUser = Schemas['CurrentUser']

/** Undefined until the page knows. */
export const user = signal<CurrentUser | undefined>(undefined)

const channel = new BroadcastChannel('fairlead-console')

/** Who was signed in when this browser last had the console open: most likely, its reads need not wait for the answer who it is. */
const rememberedKey = 'fairlead.user'

export function rememberUser(): boolean {
  try {
    user.value = JSON.parse(localStorage.getItem(rememberedKey) ?? 'null') ?? undefined
  } catch {
    // Without storage, nobody is remembered.
  }
  return user.value !== undefined
}

function remember(current: CurrentUser | undefined): void {
  try {
    if (current === undefined) localStorage.removeItem(rememberedKey)
    else localStorage.setItem(rememberedKey, JSON.stringify(current))
  } catch {
    // The next start waits.
  }
}

/** At the end of a login: whoever opens the console next is not shown as this user. */
export function forgetUser(): void {
  remember(undefined)
}

/** Resolves to false when the browser leaves for the login, or reads the page again for another user. @throws {ApiError} */
export async function loadUser(): Promise<boolean> {
  const current = await readUser()
  remember(current)
  if (current === undefined) {
    location.replace(to.login(location.pathname + location.search))
    return false
  }
  if (user.value !== undefined && user.value.username !== current.username) {
    location.reload()
    return false
  }
  user.value = current
  channel.onmessage = () => void returnFromLogin()
  return true
}

/** An empty body means that the caller is not logged in. */
async function readUser(): Promise<CurrentUser | undefined> {
  const text = await unwrap(
    client.GET('/auth/user', { parseAs: 'text' }) as Promise<{ data?: string | undefined; response: Response }>,
  )
  return text === undefined || text === '' ? undefined : (JSON.parse(text) as CurrentUser)
}

/** For the screen that the login in another tab ends at: it wakes the waiting page and closes itself. */
export function reportSignedIn(): void {
  channel.postMessage('signed-in')
  window.close()
}

/** Reads are repeated, changes never. */
export async function returnFromLogin(): Promise<void> {
  const current = await readUser().catch(() => undefined)
  if (current === undefined) return
  if (user.value !== undefined && current.username !== user.value.username) {
    location.reload()
    return
  }
  user.value = current
  loginEnded.value = false
  refreshAll()
}
