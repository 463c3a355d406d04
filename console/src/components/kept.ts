/** Of many parts, draws again only those that show something else, and at first only as many as a browser draws without a pause. */
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'

interface Kept {
  readonly shows: readonly unknown[]
  readonly drawn: ComponentChildren
}

/**
 * What was drawn for a key in the last render stays while it shows the same values. What it calls must not depend on the render in
 * which it was drawn.
 */
export function useKept(): (key: string, shows: readonly unknown[], draw: () => ComponentChildren) => ComponentChildren {
  const before = useRef<ReadonlyMap<string, Kept>>(new Map())
  const present = new Map<string, Kept>()
  useLayoutEffect(() => {
    before.current = present
  })
  return (key, shows, draw) => {
    const last = before.current.get(key)
    const isSame = last?.shows.every((value, at) => Object.is(value, shows[at])) === true
    const kept = last !== undefined && isSame ? last : { shows, drawn: draw() }
    present.set(key, kept)
    return kept.drawn
  }
}

/** Calls the function of the present render; itself it is the same in all renders. */
export function useSteady<Arguments extends unknown[]>(call: (...given: Arguments) => void): (...given: Arguments) => void {
  const present = useRef(call)
  present.current = call
  return useRef((...given: Arguments) => present.current(...given)).current
}

/** How many of so many parts are drawn by now: a piece at once, and one more after each time the browser has painted; then all. */
export function useGradually(total: number, piece: number): number {
  const [count, setCount] = useState(piece)
  useEffect(() => {
    if (count === Number.POSITIVE_INFINITY) return
    const next = count + piece
    const timer = setTimeout(() => setCount(next < total ? next : Number.POSITIVE_INFINITY))
    return () => clearTimeout(timer)
  }, [count, total])
  return Math.min(count, total)
}
