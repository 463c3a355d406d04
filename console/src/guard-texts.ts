/**
 * Makes every text that the console draws safe to read, wherever a name got into it: titles, buttons, sentences. `Name` does more, it
 * isolates and cuts a name that stands alone.
 */
import { options } from 'preact'
import { showDisguised } from './model/names.ts'

/** Properties of elements in which names stand. */
const guarded = ['children', 'title', 'aria-label', 'placeholder']

export function guardTexts(): void {
  const before = options.vnode
  options.vnode = (vnode) => {
    const props = vnode.props as Record<string, unknown>
    if (typeof vnode.type === 'string') {
      for (const name of guarded) if (name in props) props[name] = guard(props[name])
    }
    before?.(vnode)
  }
}

function guard(value: unknown): unknown {
  if (typeof value === 'string') return showDisguised(value)
  return Array.isArray(value) ? value.map(guard) : value
}
