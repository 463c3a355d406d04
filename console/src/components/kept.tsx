/** Draws parts again only where they show something else, and at first only as many as a browser draws without a pause. */
import { Component, type ComponentType, type VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { isSameValue } from '../editor/json-path.ts'

/**
 * A part that stays as it was drawn while its properties have the same content; functions must be the same themselves.
 *
 * (What was drawn refers to the elements around it: parts that keep it themselves keep the former page.)
 */
export function kept<Props extends object>(Part: (props: Props) => VNode): ComponentType<Props> {
  return class Kept extends Component<Props> {
    override shouldComponentUpdate(next: Props): boolean {
      return Object.entries(next).some(([name, value]) => !isSameValue(value, (this.props as Record<string, unknown>)[name]))
    }

    // A component of its own, so that it is drawn again when a signal that it shows changes.
    override render() {
      return <Part {...(this.props as Props)} />
    }
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

/** The value of a while ago, once it has stayed. */
export function useSettled<Value>(value: Value, pauseMs: number): Value {
  const [settled, setSettled] = useState(value)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(() => value), pauseMs)
    return () => clearTimeout(timer)
  }, [value])
  return settled
}
