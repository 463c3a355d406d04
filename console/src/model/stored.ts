/** Values that this browser keeps; where storage is switched off, they hold for the page. */

/** Older consoles stored choices without quotation marks; they hold. */
export function loadStored(name: string): unknown {
  try {
    const text = localStorage.getItem(`fairlead.${name}`) ?? 'null'
    return /^(?:on|off|light|dark)$/.test(text) ? text : JSON.parse(text)
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
