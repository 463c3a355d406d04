/** The form of a name in which two that differ in case only are equal, exactly as the stores of applications compare them. */

/** By way of upper case, as the definition store does: otherwise `ſecret` would be another application here and `secret` there. */
export function foldName(name: string): string {
  return name.trim().toUpperCase().toLowerCase()
}
