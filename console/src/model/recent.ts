/** What this user opens, uses and marks in this browser, for Home, lists and the search. */
import { signal } from '@preact/signals'
import { basePath } from '../address.ts'
import { user } from '../api/session.ts'
import { textsOf } from './read.ts'
import { loadStored, store } from './stored.ts'

interface Recent {
  readonly label: string
  readonly href: string
}

/** How much something is used: each use counts half as much after a week. */
interface Use {
  readonly score: number
  readonly atMs: number
}

const maxRecents = 8
const maxUses = 200
const halfLifeMs = 7 * 86_400_000

/** Applications, the last one first. */
export const recents = signal<readonly Recent[]>([])
export const favourites = signal<readonly string[]>([])
const uses = signal<Readonly<Record<string, Use>>>({})

/** Each user has entries of their own in a browser that several share. */
function ownKey(name: string): string {
  return `${name}.${user.peek()?.username ?? ''}`
}

/** Read when the user is known. An address below another path of this origin leads nowhere. */
export function loadKept(): void {
  const load = (name: string) => loadStored(ownKey(name)) ?? []
  recents.value = (load('recent') as Recent[]).filter(({ href }) => href.startsWith(basePath))
  favourites.value = textsOf(load('favourites'))
  uses.value = load('uses') as Record<string, Use>
}

export function noteRecent(recent: Recent): void {
  recents.value = [recent, ...recents.peek().filter(({ href }) => href !== recent.href)].slice(0, maxRecents)
  store(ownKey('recent'), recents.value)
}

export function toggleFavourite(application: string): void {
  const others = favourites.value.filter((name) => name !== application)
  favourites.value = others.length < favourites.value.length ? others : [...others, application]
  store(ownKey('favourites'), favourites.value)
}

/** Names that a screen began with when it was open last. */
export function foreseen(screen: string): readonly string[] {
  return textsOf(loadStored(ownKey(`first.${screen}`)))
}

export function foresee(screen: string, names: readonly string[]): void {
  store(ownKey(`first.${screen}`), names)
}

/** @param key What is used, such as an address. */
export function noteUse(key: string): void {
  const all = { ...uses.peek(), [key]: { score: useOf(key) + 1, atMs: Date.now() } }
  uses.value = Object.fromEntries(
    Object.entries(all)
      .toSorted(([, a], [, b]) => b.atMs - a.atMs)
      .slice(0, maxUses),
  )
  store(ownKey('uses'), uses.value)
}

/** 0 where it was never used. */
export function useOf(key: string): number {
  const use = uses.value[key]
  return use === undefined ? 0 : use.score * 0.5 ** ((Date.now() - use.atMs) / halfLifeMs)
}
