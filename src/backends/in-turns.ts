/** Work on long lists in portions: between two of them, other requests have their turn. */
import { setImmediate } from 'node:timers/promises'

/** Entries that are worked on at a time. */
export const portionSize = 100

/** As `flatMap` of a list. */
export async function flatMapInTurns<T, U>(all: readonly T[], map: (one: T) => readonly U[]): Promise<U[]> {
  const mapped: U[] = []
  for (const [index, one] of all.entries()) {
    if (index > 0 && index % portionSize === 0) await setImmediate()
    mapped.push(...map(one))
  }
  return mapped
}
