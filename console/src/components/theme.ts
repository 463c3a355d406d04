/** Light, dark, or as the system has it; chosen in this browser. */
import { signal } from '@preact/signals'
import { store } from '../model/stored.ts'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

const { dataset } = document.documentElement

export const theme = signal((dataset['theme'] as Theme | undefined) ?? 'system')

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  if (chosen === 'system') delete dataset['theme']
  else dataset['theme'] = chosen
  store('theme', chosen === 'system' ? null : chosen)
}
