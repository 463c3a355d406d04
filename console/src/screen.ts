/** Screens as the table of routes loads them. */
import type { ComponentType } from 'preact'

export interface ScreenProps {
  /** Decoded values of the path. */
  readonly params: Readonly<Record<string, string>>
  readonly query: Readonly<Record<string, string>>
}

export type LoadScreen = () => Promise<ComponentType<ScreenProps>>
