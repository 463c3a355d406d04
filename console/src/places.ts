/** The places that the rail and the search lead to, and the keys that go there. On phones all but the first two are below "More". */
import type { IconName } from './components/text.tsx'

interface Place {
  /** Below `/console`. */
  readonly path: string
  readonly label: string
  readonly icon: IconName
  /** `g` and this key lead there. */
  readonly goKey?: string
  /** The first of several that belong together. */
  readonly startsGroup?: true
  readonly adminOnly?: true
}

export const places: readonly Place[] = [
  { path: '', label: 'Home', icon: 'home', goKey: 'h' },
  { path: 'applications', label: 'Applications', icon: 'apps', goKey: 'a' },
  { path: 'environments', label: 'Environments', icon: 'layers', goKey: 'e' },
  { path: 'runs', label: 'Runs', icon: 'play', goKey: 'r' },
  { path: 'projects', label: 'Projects', icon: 'project' },
  { path: 'infrastructure', label: 'Infrastructure', icon: 'box', goKey: 'i', startsGroup: true },
  { path: 'access', label: 'Access', icon: 'lock', goKey: 'x', startsGroup: true },
  { path: 'health', label: 'Health', icon: 'info' },
  { path: 'audit', label: 'Audit log', icon: 'list', adminOnly: true },
  { path: 'users', label: 'Users', icon: 'people', adminOnly: true },
]
