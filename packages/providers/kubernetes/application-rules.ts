/** What stored applications and objects say about drift and health, beside their account. */
import { formatJson, parseIfJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { itself } from '@fairlead/ports/caller.ts'
import { type IgnoreRule, rulesIn } from './drift/ignore.ts'
import { OwnRules } from './health/own-rules.ts'
import { annotationOf } from './manifests/annotations.ts'
import { type KubeObject, ownerOf } from './objects.ts'
import type { KubernetesParts } from './parts.ts'

/** `ignoreDifferences`; none while the definition store does not answer. */
export async function loadIgnored(
  parts: KubernetesParts,
  application: string,
): Promise<IgnoreRule[]> {
  return rulesIn((await loadApplication(parts, application))['ignoreDifferences'])
}

export const healthAnnotation = 'health.fairlead.io/rule'

/** Of the object's annotation, then of its application; undefined: none. */
export async function loadHealthRules(
  parts: KubernetesParts,
  object: KubeObject,
): Promise<OwnRules[]> {
  const application = ownerOf(object)
  const { apiVersion, kind } = object
  const own = parseIfJson(annotationOf(object, healthAnnotation) ?? 'null')
  const stored =
    application === undefined
      ? []
      : objectsOf((await loadApplication(parts, application))['health'])
  const rules = [...objectsOf([own]).map((rule) => ({ ...rule, apiVersion, kind })), ...stored]
  return rules.length === 0 ? [] : [parsed(rules)]
}

/** Expressions are parsed once for all objects. */
const known = new Map<string, OwnRules>()
const mostKnown = 100

function parsed(rules: readonly JsonObject[]): OwnRules {
  const key = formatJson(rules)
  const found = known.get(key) ?? OwnRules.read(rules)
  known.delete(key)
  known.set(key, found)
  for (const first of known.keys()) {
    if (known.size <= mostKnown) break
    known.delete(first)
  }
  return found
}

async function loadApplication(
  { context: { ports } }: KubernetesParts,
  name: string,
): Promise<JsonObject> {
  return (await ports.definitions.application(name, itself).catch(() => undefined)) ?? {}
}
