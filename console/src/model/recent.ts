/** What this user opens, uses and marks in this browser, for Home, lists and the search. */

import { textsOf } from '@fairlead/base/json/values.ts'
import { signal } from '@preact/signals'
import { user } from '../api/session.ts'
import { loadStored, store } from './stored.ts'

/** How much something is used: each use counts half as much after a week. */
interface Use {
  readonly score: number
  readonly atMs: number
}

const halfLifeMs = 7 * 86_400_000

/** Applications that were opened, the last one first. */
export const recents = signal<readonly string[]>([])
/** Applications. */
export const favourites = signal<readonly string[]>([])
const uses = signal<Readonly<Record<string, Use>>>({})

/** Each user has entries of their own in a browser that several share. */
function ownKey(name: string) {
  return `${name}.${user.peek()?.username ?? ''}`
}

/** Read when the user is known. */
export function loadKept(): void {
  recents.value = textsOf(loadStored(ownKey('recent')))
  favourites.value = textsOf(loadStored(ownKey('favourites')))
  uses.value = (loadStored(ownKey('uses')) ?? {}) as Record<string, Use>
}

export function noteRecent(application: string): void {
  recents.value = [application, ...recents.peek().filter((name) => name !== application)].slice(
    0,
    8,
  )
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
  const all = Object.entries({ ...uses.peek(), [key]: { score: useOf(key) + 1, atMs: Date.now() } })
  uses.value = Object.fromEntries(all.toSorted(([, a], [, b]) => b.atMs - a.atMs).slice(0, 200))
  store(ownKey('uses'), uses.value)
}

/** 0 where it was never used. */
export function useOf(key: string): number {
  const { score, atMs } = uses.value[key] ?? { score: 0, atMs: 0 }
  return score * 0.5 ** ((Date.now() - atMs) / halfLifeMs)
}
