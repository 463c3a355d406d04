/** Attaches the virtualizer of TanStack to the page. */
import { Virtualizer, type VirtualizerOptions } from '@tanstack/virtual-core'
import { useLayoutEffect, useReducer, useRef } from 'preact/hooks'

/**
 * What the adapters of TanStack call, once after the first render and after each: without these it observes nothing. They have no public
 * names, and Preact has no adapter.
 */
interface Attachable {
  readonly _didMount?: () => () => void
  readonly _willUpdate?: () => void
}

/**
 * @param toOptions Receives the virtualizer of the last render.
 * @returns Undefined for a version of TanStack that cannot be attached: its caller draws all rows then.
 */
export function useVirtualizer<Scroller extends Element | Window>(
  toOptions: (present: Virtualizer<Scroller, Element> | undefined) => VirtualizerOptions<Scroller, Element>,
): Virtualizer<Scroller, Element> | undefined {
  const [, redraw] = useReducer((count: number) => count + 1, 0)
  const kept = useRef<Virtualizer<Scroller, Element> | undefined>(undefined)
  const options = { ...toOptions(kept.current), onChange: () => redraw(undefined as never) }
  kept.current ??= new Virtualizer(options)
  kept.current.setOptions(options)
  const attachable: Attachable = kept.current
  useLayoutEffect(() => {
    const detach = attachable._didMount?.()
    redraw(undefined as never)
    return detach
  }, [])
  useLayoutEffect(() => attachable._willUpdate?.())
  return attachable._didMount === undefined || attachable._willUpdate === undefined ? undefined : kept.current
}
