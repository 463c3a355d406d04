/** The frame with the screen of the present address. */
import type { ComponentType } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import { LocationProvider, useLocation } from 'preact-iso/router'
import { basePath } from './address.ts'
import { Banner } from './components/banner.tsx'
import { Button } from './components/button.tsx'
import { closeDialogOfPage } from './components/dialog.tsx'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { Shell } from './components/shell.tsx'
import { Loading } from './components/states.tsx'
import { findScreen } from './find-screen.ts'
import { useKeys } from './keys.ts'
import { useHeldPlace } from './leave.ts'
import { routes } from './routes.ts'
import type { Screen, ScreenRoute } from './screen.ts'
import { UnknownAddress } from './screens/unknown-address.tsx'

export function App() {
  return (
    <LocationProvider scope={basePath.replace(/\/$/, '')}>
      <Shell>
        <CurrentScreen />
      </Shell>
    </LocationProvider>
  )
}

/** Loaded once; a screen that was opened before is shown at once. */
const loaded = new Map<ScreenRoute, Screen>()

function CurrentScreen() {
  const place = useLocation()
  const { route: navigate } = place
  const { path, query } = useHeldPlace(place, navigate)
  useKeys(navigate)
  const found = findScreen(routes, path.slice(basePath.length - 1))
  const [, redraw] = useState(0)
  const [failed, setFailed] = useState<ScreenRoute | undefined>(undefined)
  const route = found?.route
  useNewPage(path)
  useEffect(() => {
    if (route === undefined || loaded.has(route)) return
    let isCurrent = true
    route.load().then(
      (screen) => {
        loaded.set(route, screen)
        if (isCurrent) redraw((count) => count + 1)
      },
      () => isCurrent && setFailed(route),
    )
    return () => {
      isCurrent = false
    }
  }, [route])
  if (found === undefined) return <UnknownAddress />
  if (failed === found.route) return <Missing />
  const Current = loaded.get(found.route) as ComponentType<object> | undefined
  if (Current === undefined) return <Loading rows={6} />
  return (
    <ErrorBoundary key={found.route.path}>
      <Current key={JSON.stringify(found.params)} {...{ params: found.params, query }} />
    </ErrorBoundary>
  )
}

/** A screen begins at its top, with the focus where its content begins and without the dialog of another; the way back keeps the place. */
function useNewPage(path: string): void {
  const last = useRef(path)
  const { wasPush } = useLocation() as { wasPush?: boolean }
  useLayoutEffect(() => {
    if (last.current === path) return
    last.current = path
    closeDialogOfPage()
    if (wasPush !== true) return
    scrollTo(0, 0)
    document.getElementById('main')?.focus({ preventScroll: true })
  }, [path, wasPush])
}

/** A part that was not loaded before an upgrade does not exist any more; without a connection nothing is loaded. */
function Missing() {
  const [isReachable, setReachable] = useState<boolean | undefined>(undefined)
  useEffect(() => {
    void fetch(basePath, { method: 'HEAD' }).then(
      () => setReachable(true),
      () => setReachable(false),
    )
  }, [])
  if (isReachable === undefined) return <Loading rows={6} />
  return (
    <Banner
      tone="info"
      actions={<Button onClick={() => location.reload()}>{isReachable ? 'Load the new console' : 'Try again'}</Button>}
    >
      {isReachable ? 'Fairlead was updated.' : 'Fairlead does not answer.'}
    </Banner>
  )
}
