/** Warns of tokens that end soon. */
import type { Output } from './output.ts'
import type { Target } from './session.ts'
import { formatSpan } from './span.ts'

const warnMs = 7 * 86_400_000

/** On standard error, seven days before the end. */
export function warnOfTokenEnd({ url, expiresAt }: Target, output: Output): void {
  if (expiresAt === undefined) return
  const leftMs = Date.parse(expiresAt) - Date.now()
  if (leftMs > warnMs || leftMs <= 0) return
  output.note(
    `Your token for ${url} ends in ${formatSpan(leftMs)}. Log in again: fairlead login ${url}`,
  )
}
