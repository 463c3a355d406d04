/** What was opened last in this browser, for Home and the search. */
import { signal } from '@preact/signals'
import { basePath } from '../address.ts'
import { user } from '../api/session.ts'

interface Recent {
  readonly label: string
  readonly kind: 'application' | 'pipeline'
  readonly href: string
}

const maxKept = 8

export const recents = signal<readonly Recent[]>([])

/** Each user has a list of their own in a browser that several share. */
function keyOfUser(): string {
  return `fairlead.recent.${user.peek()?.username ?? ''}`
}

export function noteRecent(recent: Recent): void {
  const others = load().filter(({ href }) => href !== recent.href)
  const kept = [recent, ...others].slice(0, maxKept)
  recents.value = kept
  try {
    localStorage.setItem(keyOfUser(), JSON.stringify(kept))
  } catch {
    // Storage is switched off or full.
  }
}

function load(): Recent[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(keyOfUser()) ?? '[]')
    return Array.isArray(kept) ? kept.filter(isRecent) : []
  } catch {
    return []
  }
}

function isRecent(value: unknown): value is Recent {
  const { label, href } = Object(value) as Record<string, unknown>
  return typeof label === 'string' && typeof href === 'string' && href.startsWith(basePath)
}

/** Read when the user is known. */
export function loadRecents(): void {
  recents.value = load()
}
