/** Manifests of Cloud Foundry: a template whose `((key))` placeholders get values from files. */
import { parse, type Tags } from 'yaml'
import { isObject, type JsonObject } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import { maxYamlLength } from './kustomization-file.ts'
import type { ManifestBake, ManifestType } from './manifest-type.ts'
import { describeArtifact, type ManifestRequest } from './request.ts'

export const cloudFoundryManifests: ManifestType = { name: 'CF', input: 'manifestTemplate', render: fillTemplate }

const maxManifestLength = 16 * 1024 * 1024

const placeholder = /\(\((!?[-/.\w\p{L}\][]+)\)\)/gu

/** @throws {BackendError} 400 naming the keys without a value */
async function fillTemplate({ manifestTemplate, varsArtifacts }: ManifestRequest, bake: ManifestBake): Promise<string> {
  const template = (await bake.fetch(manifestTemplate ?? {})).toString('utf8')
  const values = new Map<string, string>()
  for (const { artifact, content } of await bake.fetchAll(varsArtifacts)) {
    const variables = parseVariables(content, artifact)
    // A later file replaces all of a top-level key.
    for (const name of Object.keys(variables)) forget(values, name)
    flatten('', variables, values)
  }
  const missing = new Set<string>()
  let left = maxManifestLength - template.length
  const filled = template.replaceAll(placeholder, (whole, key: string) => {
    const value = values.get(key)
    if (value === undefined) missing.add(whole)
    left -= value?.length ?? 0
    return left < 0 ? '' : (value ?? whole)
  })
  if (left < 0) throw new BackendError(413, `The manifest would be longer than ${maxManifestLength} characters. Make it smaller.`)
  if (missing.size === 0) return filled
  throw new BackendError(
    400,
    `The template has keys without a value: ${[...missing].join(', ')}. Add them to a file of variables.`,
  )
}

function forget(values: Map<string, string>, name: string): void {
  for (const key of values.keys()) {
    if (key === name || key.startsWith(`${name}.`) || key.startsWith(`${name}[`)) values.delete(key)
  }
}

function parseVariables(content: Buffer, artifact: JsonObject): JsonObject {
  if (content.length > maxYamlLength)
    throw new BackendError(400, `The variables ${describeArtifact(artifact)} are longer than ${maxYamlLength} bytes.`)
  let parsed: unknown
  try {
    parsed = parse(content.toString('utf8'), { customTags: withoutNumbers, maxAliasCount: 10 })
  } catch (error) {
    throw new BackendError(400, `The variables ${describeArtifact(artifact)} are no YAML: ${(error as Error).message}`)
  }
  if (isObject(parsed)) return parsed
  throw new BackendError(400, `The variables ${describeArtifact(artifact)} must be a map of keys and values.`)
}

/** Numbers and booleans stay as they are written: `1.10` is no `1.1`. */
function withoutNumbers(tags: Tags): Tags {
  return tags.filter((tag) => typeof tag === 'string' || !/:(?:int|float|bool)$/.test(tag.tag))
}

/** `a: {b: [1]}` becomes `a.b[0]`. */
function flatten(key: string, value: unknown, values: Map<string, string>): void {
  if (Array.isArray(value)) {
    for (const [index, each] of value.entries()) flatten(`${key}[${index}]`, each, values)
  } else if (isObject(value)) {
    for (const [name, each] of Object.entries(value)) flatten(key === '' ? name : `${key}.${name}`, each, values)
  } else if (value !== null) values.set(key, String(value))
}
