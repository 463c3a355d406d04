/** The table of screens: address to screen, and what the rail shows. The first match wins. */
import type { Screen, ScreenRoute } from './screen.ts'
import { words } from './words.ts'

async function unknownAddress(): Promise<Screen> {
  const { UnknownAddress } = await import('./screens/unknown-address.tsx')
  return UnknownAddress
}

export const routes: readonly ScreenRoute[] = [
  {
    path: '',
    load: () => import('./screens/home.tsx').then(({ Home }) => Home),
    rail: { label: words.home, icon: 'home' },
    goKey: 'h',
  },
  // Screens to come, whose addresses no pattern below may take for its own.
  ...['executions/compare', 'applications/:application/pipelines/new'].map((path) => ({ path, load: unknownAddress })),
  { path: 'signed-in', load: () => import('./screens/signed-in.tsx').then(({ SignedIn }) => SignedIn) },
]
