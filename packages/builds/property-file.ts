/** Property files of builds: YAML, JSON, or lines of Java properties, by the ending of their name. */
import { parseJson } from '@fairlead/base/json/json.ts'
import { isObject, type JsonObject } from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { propertyLines } from '@fairlead/base/settings/property-lines.ts'

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
    const document = isYaml
      ? parseYaml(text, { merges: true })
      : /\.json$/i.test(fileName)
        ? parseJson(text)
        : parseLines(text)
    return isObject(document) ? document : {}
  } catch {
    return {}
  }
}

function parseLines(text: string): JsonObject {
  // `__proto__` would become the prototype only by assignment; a property of that name is harmless, but confuses readers.
  const lines = [...propertyLines(text)].filter(
    ({ key }) => key !== undefined && key !== '__proto__',
  )
  return Object.fromEntries(lines.map(({ key, value }) => [key, value]))
}
