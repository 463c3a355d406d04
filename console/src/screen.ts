/** A screen as the table of routes names it. */
import type { ComponentType } from 'preact'

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
}
