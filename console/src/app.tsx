/** The frame with the screen of the present address. */
import { useLayoutEffect, useRef } from 'preact/hooks'
import { LocationProvider, useLocation } from 'preact-iso/router'
import { basePath, to } from './address.ts'
import { closeDialogOfPage } from './components/dialog.tsx'
import { ErrorBoundary } from './components/error-boundary.tsx'
import { PageHead } from './components/page-head.tsx'
import { Shell } from './components/shell.tsx'
import { EmptyState } from './components/states.tsx'
import { useKeys } from './keys.tsx'
import { useHeldPlace } from './leave.tsx'
import { OrManifest } from './manifests/or-manifest.tsx'
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

const unknown = 'This address belongs to no screen.'

function CurrentScreen() {
  const { path, query } = useHeldPlace()
  useKeys()
  useNewPage(path)
  const found = findScreen(path.slice(basePath.length - 1))
  return found !== undefined ? (
    <ErrorBoundary key={found.load}>
      <OrManifest key={JSON.stringify(found.params)} {...found} query={query} />
    </ErrorBoundary>
  ) : (
    <>
      <PageHead tab={unknown} title={unknown} />
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
