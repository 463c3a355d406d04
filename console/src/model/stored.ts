/** Values that this browser keeps; where storage is switched off, they hold for the page. */

export function loadStored(name: string): unknown {
  try {
    return JSON.parse(localStorage.getItem(`fairlead.${name}`) ?? 'null')
  } catch {
    return null
  }
}

/** @param value Null forgets it. */
export function store(name: string, value: unknown): void {
  try {
    localStorage.setItem(`fairlead.${name}`, JSON.stringify(value))
  } catch {
    // Switched off or full.
  }
}
