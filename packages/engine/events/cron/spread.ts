/** Spread expressions: `H` is a number per trigger, so that triggers do not fire together. */

/** Seconds, minutes and hours may be spread. */
const sizes = [60, 60, 24]

export function isSpread(expression: string): boolean {
  return fieldsOf(expression)
    .slice(0, sizes.length)
    .some((field) => field.includes('H'))
}

/** Replaces each `H` by the trigger's number. Expressions without one come back as they are. */
export function withoutSpread(expression: string, triggerId: string): string {
  if (!isSpread(expression)) return expression
  const hash = Math.abs(hashOf(triggerId))
  return fieldsOf(expression)
    .map((field, index) =>
      index < sizes.length ? field.replaceAll('H', String(hash % (sizes[index] as number))) : field,
    )
    .join(' ')
}

function fieldsOf(expression: string): string[] {
  return expression.trim().toUpperCase().split(/\s+/)
}

/**
 * The 32-bit string hash with multiplier 31 that stored triggers were spread with before.
 * @see docs/contracts/events.md#cron-expressions
 */
function hashOf(text: string): number {
  let hash = 0
  for (let index = 0; index < text.length; index++)
    hash = (Math.imul(hash, 31) + text.charCodeAt(index)) | 0
  return hash
}
