/** The form in which names and ids are compared: without case and surrounding blanks. */

/**
 * By way of upper case, because applications are shown in upper case and must be found by what is shown: ß, SS, ss. Otherwise
 * `ſecret` would be another application for a check and `secret` for the store.
 */
export function foldName(name: string): string {
  return name.trim().toUpperCase().toLowerCase()
}
