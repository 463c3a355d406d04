/** Parts that are drawn again only where they show something else, and values that have settled. */
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
      return Object.entries(next).some(
        ([name, value]) => !isSameValue(value, (this.props as Record<string, unknown>)[name]),
      )
    }

    // A component of its own, so that it is drawn again when a signal that it shows changes.
    override render() {
      return <Part {...(this.props as Props)} />
    }
  }
}

/** Calls the function of the present render; itself it is the same in all renders. */
export function useSteady<Arguments extends unknown[]>(
  call: (...given: Arguments) => void,
): (...given: Arguments) => void {
  const present = useRef(call)
  present.current = call
  return useRef((...given: Arguments) => present.current(...given)).current
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
