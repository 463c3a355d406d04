/** Starts the console: who is the user, then the frame with the screen of the present address. */
import './styles/main.css'
import { render } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { LocationProvider, useLocation } from 'preact-iso/router'
import { basePath, FindScreen, to } from './address.ts'
import { asApiError } from './api/client.ts'
import { loadUser, rememberUser } from './api/session.ts'
import { closeDialogOfPage } from './components/dialog.tsx'
import { EmptyState, ErrorBoundary, ErrorState, PageHead } from './components/screen.tsx'
import { Shell } from './components/shell.tsx'
import { guardTexts } from './guard-texts.ts'
import { useKeys } from './keys.tsx'
import { useHeldPlace } from './leave.tsx'
import { OrManifest } from './manifests/or-manifest.tsx'
import { loadKept } from './model/recent.ts'
import { startClock } from './model/time.ts'
import { findScreen } from './routes.ts'

function CurrentScreen() {
  const { path, query } = useHeldPlace()
  useKeys()
  useNewPage(path)
  const found = findScreen(path.slice(basePath.length - 1))
  const unknown = 'This address belongs to no screen.'
  return found !== undefined ? (
    <ErrorBoundary key={found.load}>
      <OrManifest key={JSON.stringify(found.params)} {...found} query={query} />
    </ErrorBoundary>
  ) : (
    <>
      <PageHead tab={unknown} />
      <EmptyState icon="search" text="Check the address, or search for what you were looking for.">
        <a class="button" href={to.home()}>
          Go to Home
        </a>
      </EmptyState>
    </>
  )
}

/** A screen begins at its top, with the focus where its content begins and without the dialog of another; the way back keeps the place. */
function useNewPage(path: string) {
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

async function start(root: Element): Promise<void> {
  const show = () => {
    loadKept()
    const app = (
      <LocationProvider scope={basePath.replace(/\/$/, '')}>
        <FindScreen.Provider value={findScreen}>
          <Shell>
            <CurrentScreen />
          </Shell>
        </FindScreen.Provider>
      </LocationProvider>
    )
    render(app, root)
  }
  const isShown = rememberUser()
  if (isShown) show()
  try {
    if ((await loadUser()) && !isShown) show()
  } catch (cause) {
    // The screens say themselves what fails.
    if (isShown) return
    document.title = 'The console cannot start'
    render(<ErrorState error={asApiError(cause)} onRetry={() => location.reload()} />, root)
  }
}

/** What a line has no room for is read under the pointer. A name that is cut already says itself what it was. */
addEventListener('pointerover', ({ target }) => {
  const cut = (target as Element).closest<HTMLElement>('.cut, .clamped')
  const text = cut?.textContent ?? ''
  if (cut === null || text.includes('…')) return
  const isCut = cut.scrollWidth > cut.clientWidth || cut.scrollHeight > cut.clientHeight
  cut.title = isCut ? text : ''
})
guardTexts()
startClock(() => document.hidden)
void start(document.getElementById('app') ?? document.body)
