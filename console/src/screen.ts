/** A screen as the table of routes names it. */
import type { ComponentType } from 'preact'
import type { IconName } from './components/icon.tsx'

export interface ScreenProps {
  /** Decoded values of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

export type Screen = ComponentType<ScreenProps>

export interface ScreenRoute {
  /** Below `/console`, `:name` for a value. */
  readonly path: string
  /** Loads the screen when it is first opened. */
  readonly load: () => Promise<Screen>
  /** Its entry in the rail; those of administrators are left out for others. */
  readonly rail?: {
    readonly label: string
    readonly icon: IconName
    readonly adminOnly?: true
    /** On phones below "More", because the bar at the bottom has room for few. */
    readonly isLess?: true
  }
  /** `g` and this key lead there. */
  readonly goKey?: string
}
