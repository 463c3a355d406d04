/** A list or graph with what is chosen in it: side by side on wide screens, the chosen one as a page of its own on narrow ones. */
import type { ComponentChildren } from 'preact'
import { useContext, useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import {
  address,
  basePath,
  FindScreen,
  formatQuery,
  type ScreenProps,
  to,
  useNavigate,
} from '../address.ts'
import { useKeyDown } from '../letter-keys.ts'
import { OrManifest } from '../manifests/or-manifest.tsx'
import { InPanel } from './screen.tsx'
import { Icon, useWide } from './text.tsx'

interface BesideProps {
  /** None leaves the whole width to what is chosen. */
  readonly children: ComponentChildren
  /** What is chosen; nothing leaves the whole width to the rest. */
  readonly side: ComponentChildren
  /** Names the region of the chosen thing. */
  readonly label: string
  /** The address without a choice: the way back on narrow screens, and by Esc. */
  readonly back: { readonly href: string; readonly label: string }
}

export function Beside({ children, side, label, back }: BesideProps) {
  const navigate = useNavigate()
  const hasSide = side !== undefined && side !== null && side !== false
  const aside = useRef<HTMLElement>(null)
  const isWide = useWide()
  const isOpened = useRef(false)
  // Where it takes the place of the list, the reader goes on there; beside the list, the focus stays.
  useEffect(() => {
    if (isOpened.current && hasSide && !isWide) aside.current?.focus()
    isOpened.current = true
  }, [hasSide, label])
  const opener = useRef<Element>(null)
  useLayoutEffect(() => {
    if (hasSide) opener.current = document.activeElement
    else if (document.activeElement === document.body)
      (opener.current as HTMLElement | null)?.focus()
  }, [hasSide])
  // Esc closes what is chosen, after menus, dialogs and fields have had it.
  useKeyDown(({ key, target, defaultPrevented }) => {
    if (!hasSide || key !== 'Escape' || defaultPrevented) return
    const isElsewhere = (target as Element).closest?.('input, textarea, select, .cm-editor')
    if (!isElsewhere && document.querySelector('dialog[open], [role="menu"]') === null)
      navigate(back.href, true)
  })
  return (
    <div class={`beside ${hasSide && children ? 'has-side' : ''}`}>
      {children && <div class="beside-main">{children}</div>}
      {hasSide && (
        <aside class="beside-side" aria-label={label} tabIndex={-1} ref={aside}>
          <a class="beside-back" href={back.href}>
            <Icon name="left" /> {back.label}
          </a>
          {side}
        </aside>
      )}
    </div>
  )
}

interface BesideScreensProps {
  readonly application: string
  readonly query: ScreenProps['query']
  readonly children: ComponentChildren
}

/** What runs of an application: where there is room, links to server groups, instances and manifests open their screens beside it. */
export function BesideScreens({ application, query, children }: BesideScreensProps) {
  const { path, route: navigate } = useLocation()
  const isWide = useWide()
  const isInPanel = useContext(InPanel) !== undefined
  const findScreen = useContext(FindScreen)
  const root = useRef<HTMLDivElement>(null)
  const { show, tab: _tab, line: _line, ...list } = query
  const page = address(['applications', application, ...(show ?? '').split('/')])
  const found = show === undefined ? undefined : findScreen(page.slice(basePath.length - 1))
  const open = (event: MouseEvent) => {
    const link = (event.target as Element).closest<HTMLAnchorElement>(
      'a[href]:not([role], [data-page])',
    )
    const [, shown = ''] = link?.pathname.split(`${to.application(application)}/`) ?? []
    const isPlain =
      isWide &&
      event.button === 0 &&
      !(event.ctrlKey || event.metaKey || event.shiftKey || event.altKey)
    if (link === null || !isPlain || !/^(server-groups|instances|manifests)\//.test(shown)) return
    event.preventDefault()
    event.stopPropagation()
    const own = Object.fromEntries(new URLSearchParams(link.search))
    navigate(path + formatQuery({ ...list, ...own, show: decodeURIComponent(shown) }))
  }
  useEffect(() => {
    root.current?.addEventListener('click', open)
    return () => root.current?.removeEventListener('click', open)
  })
  const close = path + formatQuery(list)
  if (isInPanel) return <>{children}</>
  return (
    <div class="beside-screens" ref={root}>
      <Beside
        label={show?.split('/').at(-1) ?? ''}
        back={{ href: close, label: 'Back to the list' }}
        side={
          found && (
            <InPanel.Provider value={{ page, close }}>
              <div class="panel beside-screen">
                <OrManifest key={show} {...found} query={query} />
              </div>
            </InPanel.Provider>
          )
        }
      >
        {children}
      </Beside>
    </div>
  )
}
