/** Property files of builds: YAML, JSON, or lines of Java properties, by the ending of their name. */
import { parseYaml } from '../../http/yaml.ts'
import { parseJson } from '../../json/json.ts'
import { isObject, type JsonObject } from '../../json/values.ts'

/** Reading YAML takes long, and nothing else is done meanwhile. */
const maxYamlLength = 128 * 1024
const maxLength = 1024 * 1024

/**
 * Keys and values of the file; `{}` when it cannot be parsed, or is too large.
 *
 * @see docs/contracts/builds.md#reading-builds
 */
export function parseProperties(fileName: string, text: string): JsonObject {
  const isYaml = /\.ya?ml$/i.test(fileName)
  if (text.length > (isYaml ? maxYamlLength : maxLength)) return {}
  try {
    const document = isYaml ? parseYaml(text) : /\.json$/i.test(fileName) ? parseJson(text) : parseLines(text)
    return isObject(document) ? document : {}
  } catch {
    return {}
  }
}

/** As `java.util.Properties` reads them: comments, continued lines, escape sequences, and `=`, `:` or a blank after the key. */
function parseLines(text: string): JsonObject {
  const entries = logicalLines(text).map((line) => {
    const end = endOfKey(line)
    const value = line.slice(end).replace(/^[ \t\f]*[=:]?[ \t\f]*/, '')
    return [unescaped(line.slice(0, end)), unescaped(value)] as const
  })
  // `__proto__` would become the prototype only by assignment; a property of that name is harmless, but confuses readers.
  return Object.fromEntries(entries.filter(([key]) => key !== '__proto__'))
}

function logicalLines(text: string): string[] {
  const lines: string[] = []
  let open: string | undefined
  for (const natural of text.split(/\r\n|\r|\n/)) {
    const line = natural.trimStart()
    if (open === undefined && (line === '' || line.startsWith('#') || line.startsWith('!'))) continue
    const whole: string = (open ?? '') + line
    const isContinued = trailingBackslashes(line) % 2 === 1
    open = isContinued ? whole.slice(0, -1) : undefined
    if (!isContinued) lines.push(whole)
  }
  return open === undefined ? lines : [...lines, open]
}

function trailingBackslashes(line: string): number {
  let at = line.length
  while (line[at - 1] === '\\') at--
  return line.length - at
}

/** The first separator that is not escaped. */
function endOfKey(line: string): number {
  for (let at = 0; at < line.length; at++) {
    if (line[at] === '\\') at++
    else if (' \t\f=:'.includes(line[at] as string)) return at
  }
  return line.length
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', f: '\f' }

function unescaped(text: string): string {
  return text.replaceAll(/\\(?:u([0-9a-fA-F]{4})|([\s\S]))/g, (_all, code: string | undefined, character = '') =>
    code === undefined ? (escapes[character] ?? character) : String.fromCharCode(Number.parseInt(code, 16)),
  )
}
