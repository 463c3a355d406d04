/** What stored applications and objects say about drift and health, beside their account. */
import { within } from '@fairlead/base/concurrency/within.ts'
import { formatJson, parseIfJson } from '@fairlead/base/json/json.ts'
import { type JsonObject, objectsOf } from '@fairlead/base/json/values.ts'
import { itself } from '@fairlead/ports/caller.ts'
import type { Application } from '@fairlead/ports/definitions.ts'
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
  return rulesIn((await loadApplication(parts, application))?.ignoreDifferences ?? [])
}

const healthAnnotation = 'health.fairlead.io/rule'

/** Rule of the object's annotation, then that of its application. */
export async function loadHealthRules(
  parts: KubernetesParts,
  object: KubeObject,
): Promise<OwnRules[]> {
  const application = ownerOf(object)
  const { apiVersion, kind } = object
  const own = parseIfJson(annotationOf(object, healthAnnotation) ?? 'null')
  const stored =
    application === undefined ? [] : ((await knownApplication(parts, application))?.health ?? [])
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

interface ReadApplication {
  readonly atMs: number
  readonly read: Promise<Application | undefined>
}

const applicationsOf = new WeakMap<object, Map<string, ReadApplication>>()
/** Health results are asked for many times a minute. */
const knownMs = 5000
/** A health result does not wait longer for the definition store. */
const waitMs = 1000

function knownApplication(parts: KubernetesParts, name: string): Promise<Application | undefined> {
  const { now, context } = parts
  const all = applicationsOf.getOrInsertComputed(context.ports.definitions, () => new Map())
  const found = all.get(name)
  if (found !== undefined && Math.abs(now() - found.atMs) < knownMs) return found.read
  const before = found?.read ?? Promise.resolve(undefined)
  const late = within(waitMs, loadApplication(parts, name))
  const read = late.then((application) => application ?? before)
  all.set(name, { atMs: now(), read })
  return read
}

async function loadApplication(
  { context: { ports } }: KubernetesParts,
  name: string,
): Promise<Application | undefined> {
  return ports.definitions.application(name, itself).catch(() => undefined)
}
