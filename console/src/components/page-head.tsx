/** The head of a screen: path, title, state and actions; it also names the tab of the browser. */
import type { ComponentChildren } from 'preact'
import { useEffect } from 'preact/hooks'
import { showDisguised } from '../model/names.ts'
import { ActionButton } from './button.tsx'
import { Menu, type MenuItem } from './menu.tsx'
import { Name } from './name.tsx'

export interface PageHeadProps {
  /** The title of the browser's tab. */
  readonly tab: string
  /** That of the tab unless given. */
  readonly title?: ComponentChildren
  readonly crumbs?: readonly { readonly label: ComponentChildren; readonly href: string }[]
  /** Of what the screen lists, once it is known. */
  readonly count?: number | undefined
  /** Beside the title, such as its status. */
  readonly state?: ComponentChildren
  readonly actions?: ComponentChildren
  /** Below: the line that says what is true now. */
  readonly children?: ComponentChildren
}

export const brand = document.querySelector<HTMLMetaElement>('meta[name="application-name"]')?.content ?? 'Fairlead'

export function PageHead({ tab, title, crumbs = [], count, state, actions, children }: PageHeadProps) {
  useEffect(() => {
    document.title = `${showDisguised(tab)} - ${brand}`
  }, [tab])
  return (
    <header class="page-head">
      {crumbs.length > 0 && (
        <nav aria-label="Path" class="crumbs">
          <ol>
            {crumbs.map(({ label, href }) => (
              <li key={href}>
                <a href={href}>{label}</a>
              </li>
            ))}
          </ol>
        </nav>
      )}
      <div class="page-title">
        <h1>{title ?? <Name text={tab} />}</h1>
        {count !== undefined && <span class="count">{count.toLocaleString()}</span>}
        {state}
        <div class="grow" />
        {actions !== undefined && <div class="row actions">{actions}</div>}
      </div>
      {children}
    </header>
  )
}

interface HeadActionsProps {
  /** Of the thing that the screen shows. */
  readonly name: string
  readonly actions: readonly MenuItem[]
  /** Those that stand beside the menu where there is room. */
  readonly shown: readonly MenuItem[]
}

export function HeadActions({ name, actions, shown }: HeadActionsProps) {
  return (
    <>
      {shown.map((action) => (
        <span key={action.label} class="hide-narrow">
          <ActionButton action={action} />
        </span>
      ))}
      <Menu label={`Actions of ${name}`} items={actions} class="button">
        Actions
      </Menu>
    </>
  )
}
