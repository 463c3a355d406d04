/** The frame with the screen of the present address. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { LocationProvider, useLocation } from 'preact-iso/router'
import { basePath, to } from './address.ts'
import { closeDialogOfPage } from './components/dialog.tsx'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { PageHead } from './components/page-head.tsx'
import { Shell } from './components/shell.tsx'
import { EmptyState } from './components/states.tsx'
import { Lazy } from './editor/lazy.tsx'
import { useKeys } from './keys.tsx'
import { useHeldPlace } from './leave.tsx'
import { findScreen } from './routes.ts'

export function App() {
  return (
    <LocationProvider scope={basePath.replace(/\/$/, '')}>
      <Shell>
        <CurrentScreen />
      </Shell>
    </LocationProvider>
  )
}

function CurrentScreen() {
  const place = useLocation()
  const { path, query } = useHeldPlace(place, place.route)
  useKeys(place.route)
  useNewPage(path)
  const found = findScreen(path.slice(basePath.length - 1))
  if (found === undefined) return <UnknownAddress />
  const { load, params } = found
  return (
    <ErrorBoundary key={load}>
      <Lazy key={JSON.stringify(params)} load={load} props={{ params, query }} />
    </ErrorBoundary>
  )
}

function UnknownAddress() {
  const text = 'This address belongs to no screen.'
  return (
    <>
      <PageHead tab={text} title={text} />
      <EmptyState icon="search" text="Check the address, or search for what you were looking for.">
        <a class="button" href={to.home()}>
          Go to Home
        </a>
      </EmptyState>
    </>
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
