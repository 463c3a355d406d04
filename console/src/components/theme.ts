/** Light, dark, or as the system has it; chosen in this browser. */
import { signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const storageKey = 'fairlead.theme'

export const theme = signal<Theme>((document.documentElement.dataset['theme'] as Theme | undefined) ?? 'system')

export function chooseTheme(chosen: Theme): void {
  theme.value = chosen
  const { dataset } = document.documentElement
  if (chosen === 'system') delete dataset['theme']
  else dataset['theme'] = chosen
  remember(chosen)
}

function remember(chosen: Theme): void {
  try {
    if (chosen === 'system') localStorage.removeItem(storageKey)
    else localStorage.setItem(storageKey, chosen)
  } catch {
    // Storage is switched off: the choice holds for this page.
  }
}
