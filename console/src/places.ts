/** The places that the rail and the search lead to, and the keys that go there. */
import type { IconName } from './components/icon.tsx'

interface Place {
  /** Below `/console`. */
  readonly path: string
  readonly label: string
  readonly icon: IconName
  /** `g` and this key lead there. */
  readonly goKey?: string
  /** The first of several that belong together. */
  readonly startsGroup?: true
  /** Left out for other users. */
  readonly adminOnly?: true
  /** On phones below "More", because the bar at the bottom has room for few. */
  readonly isLess?: true
}

export const places: readonly Place[] = [
  { path: '', label: 'Home', icon: 'home', goKey: 'h' },
  { path: 'applications', label: 'Applications', icon: 'apps', goKey: 'a' },
  { path: 'environments', label: 'Environments', icon: 'layers', goKey: 'e', isLess: true },
  { path: 'runs', label: 'Runs', icon: 'play', isLess: true, goKey: 'r' },
  { path: 'projects', label: 'Projects', icon: 'project', isLess: true },
  { path: 'infrastructure', label: 'Infrastructure', icon: 'box', isLess: true, goKey: 'i', startsGroup: true },
  { path: 'access', label: 'Access', icon: 'lock', isLess: true, goKey: 'x', startsGroup: true },
  { path: 'health', label: 'Health', icon: 'info', isLess: true },
  { path: 'audit', label: 'Audit log', icon: 'list', adminOnly: true, isLess: true },
  { path: 'users', label: 'Users', icon: 'people', adminOnly: true, isLess: true },
]
