/** Whether failures have the same cause, whatever differs from run to run. docs/contracts/causes.md, section 6. */
import type { Cause, CauseKind } from './cause.ts'

/** Kinds of which one cause breaks several pipelines. */
const sharedKinds: readonly CauseKind[] = ['network', 'resource', 'permission', 'dependency']

/** In this order: identifiers, times, lengths and sizes, addresses, ordinals of replicas. */
const variable: readonly (readonly [RegExp, string])[] = [
  [/\?[^\s"'<>]*/g, ''],
  [/\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/gi, '#'],
  [/-[0-9a-f]{6,10}-[a-z0-9]{5}\b/g, '-#'],
  [/\b(?:sha256:)?(?=[a-f]{0,63}\d)[0-9a-f]{7,64}\b/gi, '#'],
  [/\b[0-9A-HJKMNP-TV-Z]{26}\b/g, '#'],
  [/\b\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?Z?)?/g, '#'],
  [/\b\d\d:\d\d(?::\d\d)?(?:[.,]\d{1,9})?\b/g, '#'],
  [/\b\d{1,15}(?:\.\d{1,9})?\s?(?:ms|s|m|h|min|(?:second|minute|hour|byte)s?|[kMGT]?i?B)\b/g, '#'],
  [/\b\d{1,3}(?:\.\d{1,3}){3}\b/g, '#'],
  [/\b[0-9a-f]{1,4}(?::[0-9a-f]{0,4}){3,7}/gi, '#'],
  [/([a-z#\]]):\d{2,5}\b/gi, '$1:#'],
  [/(?<=[a-z])-\d{1,4}\b/gi, ''],
]

/** Numbers that say what happened: of HTTP, of SQL, of an exit. */
const code = /(?:exit|code|status|sqlstate|error|http(?:\/\d\.\d)?)[:=( ]{0,3}$/i

function normalize(text: string): string {
  const steady = variable.reduce((left, [what, by]) => left.replace(what, by), text)
  return steady
    .split(/\s+/)
    .map((word) =>
      word.includes('/') && !word.includes('://') ? (word.split('/').at(-1) ?? '') : word,
    )
    .join(' ')
    .replace(/(?<![\w.])\d+(?:\.\d+)*\b/g, (number, at: number, whole: string) => {
      const isStatus = /^[45]\d\d$/.test(number) && /^ [A-Z]/.test(whole.slice(at + number.length))
      return isStatus || code.test(whole.slice(0, at)) ? number : '#'
    })
    .trim()
    .toLowerCase()
}

/**
 * Equal for failures with the same cause.
 *
 * @param pipeline In which it failed: most kinds of causes are the same within one pipeline only
 */
export function sameCauseKey({ tool, kind, text, tests }: Cause, pipeline: string): string {
  const place = sharedKinds.includes(kind) ? '' : pipeline
  return [tool, kind, ...(tests?.names ?? []), normalize(text), place].join('\n')
}
