/** Asks before a page with unsaved changes is left. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { loginEnded } from './api/login-state.ts'

interface Question {
  readonly isNeeded: () => boolean
  /** @param leave Goes where the user wanted to go. */
  readonly ask: (leave: () => void) => void
}

interface Guard extends Question {
  /** The path of the page; other addresses of the same path are the page as well. */
  readonly path: string
}

let guard: Guard | undefined

/** For the page on which the component is first shown, as long as it is shown. */
export function useLeaveGuard({ isNeeded, ask }: Question): void {
  const { path } = useLocation()
  useEffect(() => {
    const mine: Guard = { path, isNeeded, ask }
    guard = mine
    const onUnload = (event: BeforeUnloadEvent) => {
      // After a login of another user the page has to go.
      if (isNeeded() && !loginEnded.peek()) event.preventDefault()
    }
    addEventListener('beforeunload', onUnload)
    return () => {
      removeEventListener('beforeunload', onUnload)
      if (guard === mine) guard = undefined
    }
  }, [])
}

interface Place {
  readonly path: string
  readonly url: string
  readonly query: Readonly<Record<string, string>>
  readonly wasPush?: boolean
}

/** The place to show: the present one, or that of the guarded page while the user is asked. */
export function useHeldPlace(place: Place, navigate: (url: string) => void): Place {
  const shown = useRef(place)
  const position = useRef(historyPosition())
  const isHeld = guard !== undefined && guard.path === shown.current.path && place.path !== guard.path && guard.isNeeded()
  useLayoutEffect(() => {
    if (!isHeld) {
      position.current = historyPosition()
      return
    }
    const asked = guard
    const back = position.current === undefined ? (place.wasPush === true ? -1 : 1) : position.current - (historyPosition() ?? 0)
    const isBack = goBy(back)
    asked?.ask(() => {
      if (guard === asked) guard = undefined
      // Going back takes its time; what is opened before would be left again.
      void isBack.then(() => navigate(place.url))
    })
  }, [place.url, isHeld])
  if (!isHeld) shown.current = place
  return shown.current
}

const longestBackMs = 1000

function goBy(steps: number): Promise<void> {
  if (steps === 0) return Promise.resolve()
  const { promise, resolve } = Promise.withResolvers<void>()
  addEventListener('popstate', () => resolve(), { once: true })
  setTimeout(resolve, longestBackMs)
  history.go(steps)
  return promise
}

/** Where the browser tells it: the number of the present entry of the history. */
function historyPosition(): number | undefined {
  return (globalThis as { navigation?: { currentEntry?: { index: number } } }).navigation?.currentEntry?.index
}
