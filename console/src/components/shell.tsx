/** The frame of every screen: rail or bottom bar, top line, dialogs. */
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { basePath, to } from '../address.ts'
import { type Connection, connection } from '../api/live.ts'
import { loginEnded } from '../api/login-state.ts'
import { forgetUser, returnFromLogin, user } from '../api/session.ts'
import { useActiveExecutions, useWaiting } from '../api/waiting.ts'
import { openKeys } from '../keys.tsx'
import type { Kind } from '../model/execution.ts'
import { readersZone } from '../model/time.ts'
import { places } from '../places.ts'
import { capital } from '../words.ts'
import { Button } from './button.tsx'
import { Dialog, DialogOutlet, openDialog } from './dialog.tsx'
import { Menu } from './menu.tsx'
import { announcement, Notices } from './notices.tsx'
import { openPalette } from './palette.tsx'
import { brand } from './screen.tsx'
import { Icon, Mark, StatusMark } from './text.tsx'
import { chooseTheme, theme, themes } from './theme.ts'

export function Shell({ children }: { children: ComponentChildren }) {
  return (
    <>
      <a class="skip-link" href="#main">
        Skip to the content
      </a>
      <div class="shell">
        <TopLine />
        <Rail />
        <main id="main" tabIndex={-1}>
          <Notices />
          {children}
        </main>
      </div>
      <div class="visually-hidden" role="status">
        {announcement}
      </div>
      <DialogOutlet />
      <LoginEndedDialog />
    </>
  )
}

function TopLine() {
  return (
    <header class="top-line">
      <a class="brand" href={to.home()} aria-label={brand}>
        <Mark />
        <span class="brand-name">{brand}</span>
      </a>
      <button type="button" class="search-button" onClick={openPalette}>
        <Icon name="search" />
        <span class="grow">Search or jump to …</span>
        <kbd>Ctrl K</kbd>
      </button>
      <LiveIndicator />
      <Notifications />
      <UserMenu />
    </header>
  )
}

const connections: Readonly<Record<Connection, readonly [kind: Kind, word: string, help: string]>> =
  {
    connected: ['succeeded', 'Live', 'Fairlead reports changes as they happen.'],
    polling: ['queued', 'Every few seconds', 'This page reads changes every few seconds.'],
    reconnecting: [
      'running',
      'Reconnecting',
      'The connection to Fairlead broke off; this page tries again.',
    ],
    stale: ['warning', 'Stale', 'Fairlead does not answer; this page shows older data.'],
  }

/** How current the page is. Screen readers are told when it falls behind, and when it no longer does. */
function LiveIndicator() {
  const state = connection.value
  const [kind, word, help] = connections[state]
  const wasStale = useRef(false)
  useEffect(() => {
    // Neither good again nor worse.
    if (state === 'reconnecting' || wasStale.current === (state === 'stale')) return
    wasStale.current = state === 'stale'
    announcement.value = help
  }, [state])
  return (
    <span class={`live-state is-${state}`} title={help}>
      <StatusMark kind={kind} />
      <span class="live-word">{word}</span>
    </span>
  )
}

function UserMenu() {
  const { username, email, roles } = user.value ?? { username: '', email: null, roles: [] }
  const head = (
    <div class="menu-head">
      <strong>{username}</strong>
      {email !== null && email !== username && <span class="muted">{email}</span>}
      {roles.length > 0 && <span class="muted">{roles.join(', ')}</span>}
      <span class="muted">{`Times are in ${readersZone}.`}</span>
    </div>
  )
  const items = [
    ...themes.map((id) => ({
      label: `Theme: ${capital(id)}`,
      checked: theme.value === id,
      onSelect: () => chooseTheme(id),
    })),
    { label: 'Keyboard shortcuts', icon: 'list' as const, onSelect: openKeys },
    { label: 'API reference', href: to.api(), icon: 'external' as const },
    { label: 'Sign out', href: to.logout(), icon: 'signout' as const, onSelect: forgetUser },
  ]
  return (
    <Menu items={items} class="user-button" head={head}>
      <span class="avatar" aria-hidden="true">
        {(username[0] ?? '?').toUpperCase()}
      </span>
      <span class="user-name">{username}</span>
      <Icon name="down" />
    </Menu>
  )
}

/** At the left of wide screens, at the bottom of phones. */
function Rail() {
  const { path, query } = useLocation()
  const isHome = `${path}/`.replace('//', '/') === basePath
  const isWaiting = isHome && query['show'] === 'waiting'
  const shown = places.filter(({ adminOnly }) => adminOnly !== true || user.value?.isAdmin === true)
  const isHere = (place: string) =>
    place === '' ? isHome && !isWaiting : path.startsWith(basePath + place)
  const more = shown
    .slice(2)
    .map(({ path: place, label, icon }) => ({ label, icon, href: basePath + place }))
  return (
    <nav class="rail" aria-label="Main">
      <ul>
        {shown.map(({ path: place, label, icon, startsGroup }, at) => (
          <li
            key={place}
            class={`${at > 1 ? 'hide-phone' : ''} ${startsGroup ? 'starts-group' : ''}`}
          >
            <a href={basePath + place} aria-current={isHere(place) ? 'page' : undefined}>
              <Icon name={icon} size={20} />
              <span>{label}</span>
            </a>
          </li>
        ))}
        <li class="phone-only">
          <button type="button" onClick={openPalette}>
            <Icon name="search" size={20} />
            <span>Search</span>
          </button>
        </li>
        <li class="phone-only">
          <Waiting isHere={isWaiting} />
        </li>
        <li class="phone-only more-menu">
          <Menu label="More" class="" items={more}>
            <Icon name="more" size={20} />
            <span>More</span>
          </Menu>
        </li>
      </ul>
    </nav>
  )
}

/** What waits for the reader, counted. */
const useCount = () => useWaiting(useActiveExecutions('slow').body)?.length ?? 0

function Notifications() {
  const count = useCount()
  const open = async () => {
    const { NotificationCentre } = await import('../screens/home.tsx')
    openDialog(<NotificationCentre />)
  }
  const words = `Notifications${count > 0 ? `, ${count} waiting for you` : ''}`
  return (
    <button
      type="button"
      class="icon-button hide-phone"
      aria-label={words}
      title={words}
      onClick={() => void open()}
    >
      <Icon name="bell" size={20} />
      {count > 0 && <span class="count">{count.toLocaleString()}</span>}
    </button>
  )
}

function Waiting({ isHere }: { isHere: boolean }) {
  const count = useCount()
  return (
    <a href={to.home({ show: 'waiting' })} aria-current={isHere ? 'page' : undefined}>
      <Icon name="user" size={20} />
      <span>Waiting {count > 0 && <span class="count">{count.toLocaleString()}</span>}</span>
    </a>
  )
}

/** Above the unchanged page when the login has ended; the login runs in a tab of its own. */
function LoginEndedDialog() {
  if (!loginEnded.value) return null
  const footer = (
    <>
      <Button onClick={() => void returnFromLogin()}>Try again</Button>
      <a
        class="button is-primary"
        href={to.login(to.signedIn())}
        target="_blank"
        rel="noopener opener"
      >
        Sign in again
      </a>
    </>
  )
  return (
    <Dialog title="Your login has ended" footer={footer} class="is-narrow" closable={false}>
      <p>Sign in again; nothing on this page is lost.</p>
    </Dialog>
  )
}
