/** Addresses of operations. */

/** A path with its values encoded. */
export function pathOf(parts: TemplateStringsArray, ...values: readonly string[]): string {
  return String.raw({ raw: parts }, ...values.map(encodeURIComponent))
}
