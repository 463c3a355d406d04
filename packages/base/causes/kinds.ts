/** The kind of a cause, by words of its text. */
import type { CauseKind } from './cause.ts'

const words: readonly (readonly [CauseKind, RegExp])[] = [
  [
    'resource',
    /EADDRINUSE|address already in use|already in use|no space left|quota|out of memory|exceeds? the limit|MemoryError|too many open files|Insufficient (?:cpu|memory)/i,
  ],
  [
    'network',
    /ECONN(?:REFUSED|RESET|ABORTED)|connection (?:refused|reset|timed out|was closed)|\bENOTFOUND|EAI_AGAIN|UnknownHost|ConnectException|(?:name|host|service) (?:or service )?not known|could not resolve (?:host|proxy)|no such host|no route|x509:|certificate|bad gateway|service unavailable|\b50[234]\b|refused/i,
  ],
  [
    'permission',
    /EACCES|EPERM|denied|forbidden|unauthorized|\b40[13]\b|permission|authentication failed|authentication required/i,
  ],
  ['timeout', /timed? ?out|deadline/i],
]
const missingModule =
  /No module named|Cannot find (?:module|package)|ModuleNotFoundError|Module not found|ImportError/
const missingPackage =
  /could not (?:find|resolve) (?:artifact|dependenc|package|gem|all files)|no matching (?:package|distribution|manifest)|manifest unknown|not in this registry|ErrImagePull|could not find [^\s:]+:/i
const setting =
  /(?:KeyError: ['"]|key not found: ['"])[A-Z]|\b(?:missing|required|not set|must|undefined variable|unknown (?:option|flag|field|directive)|mapping|yaml|config(?:uration)?)\b|Config(?:uration)?Error|ImproperlyConfigured|relation "[^"]*" (?:already|does not)/i

interface Known {
  /** Kind that the rule names. */
  readonly kind: CauseKind | undefined
  readonly class: string
  readonly hasPlace: boolean
}

export function kindOf(text: string, { kind, class: of, hasPlace }: Known): CauseKind {
  if (of === 'S' && kind !== undefined) return kind
  if (missingModule.test(text) && (of !== 'M' || kind === 'dependency')) return 'dependency'
  if (/fatal error: \S+: No such file/.test(text)) return 'dependency'
  if (of === 'B') return kind ?? 'unknown'
  const byWord = words.find(([, pattern]) => pattern.test(text))?.[0]
  if (byWord !== undefined) return byWord
  if (missingPackage.test(text)) return 'dependency'
  if (kind !== undefined && of === 'M')
    return kind === 'network' ? 'network' : configured(text, kind)
  if (hasPlace) return 'code'
  if (/\bexpected\b/i.test(text) && /\b(?:got|but|received|actual|to be)\b/i.test(text))
    return 'test'
  if (setting.test(text)) return 'configuration'
  return kind ?? 'unknown'
}

/** A missing setting is one, whatever else the tool complains of. */
function configured(text: string, kind: CauseKind): CauseKind {
  return kind === 'dependency' && /Missing script|Unknown command|missing required/i.test(text)
    ? 'configuration'
    : kind
}
