/**
 * Makes every text that the console draws safe to read, wherever a name got into it: titles, buttons, sentences. `Name` does more, it
 * isolates and cuts a name that stands alone.
 */
import { options, type VNode } from 'preact'
import { showDisguised } from './model/names.ts'

export function guardTexts(): void {
  const before = options.vnode
  options.vnode = (vnode) => {
    if (typeof vnode.type === 'string') guard(vnode as VNode<Guarded>)
    before?.(vnode)
  }
}

/** Where names stand besides the text. */
const attributes = ['title', 'aria-label', 'placeholder'] as const

type Guarded = { children?: unknown } & { [Name in (typeof attributes)[number]]?: unknown }

function guard({ props }: VNode<Guarded>): void {
  for (const name of attributes) {
    const text = props[name]
    if (typeof text === 'string') props[name] = showDisguised(text)
  }
  const { children } = props
  if (typeof children === 'string') props.children = showDisguised(children)
  else if (Array.isArray(children) && children.some((child) => typeof child === 'string')) {
    props.children = children.map((child: unknown) => (typeof child === 'string' ? showDisguised(child) : child))
  }
}
