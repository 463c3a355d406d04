/** Chooses light or dark before the first paint; loaded as a script that blocks. */
const chosen = readChoice()
if (chosen !== null) document.documentElement.dataset['theme'] = chosen

function readChoice(): string | null {
  try {
    return localStorage.getItem('fairlead.theme')
  } catch {
    // Storage is switched off.
    return null
  }
}
