/** Values of secrets in lines of output. */
import { withoutSecrets } from '@fairlead/model/secrets/secret-names.ts'
import type { LogLine } from './program-access.ts'

/** A secret may have several lines: they are masked together, and what was one line stays one. */
export function maskLines(lines: readonly LogLine[], masks: readonly string[]): LogLine[] {
  const text = lines.map((line) => line.text).join('\n')
  const masked = withoutSecrets(text, masks).split('\n')
  return lines
    .slice(0, masked.length)
    .map((line, index) => ({ ...line, text: masked[index] ?? '' }))
}
