/** Asks before a page with unsaved changes is left. */
import { useEffect, useLayoutEffect, useRef } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { loginEnded } from './api/login-state.ts'
import { closeDialog, openDialog } from './components/dialog.tsx'
import { FormDialog } from './components/form-dialog.tsx'

interface Guard {
  readonly isNeeded: () => boolean
  /** What would be lost, in words. */
  readonly loss: () => string
  readonly discard: () => void
}

/** Has the path of the page; other addresses of the same path are the page as well. */
let guard: (Guard & { readonly path: string }) | undefined

/** For the page on which the component is first shown, as long as it is shown. */
export function useLeaveGuard(page: Guard): void {
  const { path } = useLocation()
  useEffect(() => {
    const mine = { path, ...page }
    guard = mine
    const onUnload = (event: BeforeUnloadEvent) => {
      // After a login of another user the page has to go.
      if (mine.isNeeded() && !loginEnded.peek()) event.preventDefault()
    }
    addEventListener('beforeunload', onUnload)
    return () => {
      removeEventListener('beforeunload', onUnload)
      if (guard === mine) guard = undefined
    }
  }, [])
}

/** @param stay For what is not below the dialog. */
export function openLeaveDialog(loss: string, leave: () => void, stay = closeDialog): void {
  const words = { title: 'Discard your changes?', action: 'Discard', dismissal: 'Stay' }
  openDialog(
    <FormDialog {...words} kind="destructive" onClose={stay} run={async () => leave()}>
      <p>{loss}</p>
    </FormDialog>,
  )
}

/** The place to show: the present one, or that of the guarded page while the user is asked. */
export function useHeldPlace() {
  const place = useLocation() as ReturnType<typeof useLocation> & { readonly wasPush?: boolean }
  const shown = useRef(place)
  const position = useRef(historyPosition())
  const asked =
    guard?.path === shown.current.path && place.path !== guard.path && guard.isNeeded()
      ? guard
      : undefined
  useLayoutEffect(() => {
    if (asked === undefined) {
      position.current = historyPosition()
      return
    }
    const back =
      position.current === undefined
        ? place.wasPush === true
          ? -1
          : 1
        : position.current - (historyPosition() ?? 0)
    const isBack = goBy(back)
    openLeaveDialog(asked.loss(), () => {
      asked.discard()
      guard = undefined
      // Going back takes its time; what is opened before would be left again.
      void isBack.then(() => place.route(place.url))
    })
  }, [place.url, asked !== undefined])
  if (asked === undefined) shown.current = place
  return shown.current
}

async function goBy(steps: number) {
  if (steps === 0) return
  const { promise, resolve } = Promise.withResolvers<void>()
  addEventListener('popstate', () => resolve(), { once: true })
  setTimeout(resolve, 1000)
  history.go(steps)
  await promise
}

/** Where the browser tells it: the number of the present entry of the history. */
function historyPosition() {
  return (globalThis as { navigation?: { currentEntry?: { index: number } } }).navigation
    ?.currentEntry?.index
}
