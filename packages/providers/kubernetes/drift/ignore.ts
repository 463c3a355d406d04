/** Differences that users do not want to see, in the form of `ignoreDifferences` of Argo CD. */
import { parseIfJson } from '@fairlead/base/json/json.ts'
import {
  fieldOf,
  isObject,
  type JsonObject,
  listOf,
  objectsOf,
} from '@fairlead/base/json/values.ts'
import { z } from 'zod'
import { annotationOf } from '../manifests/annotations.ts'
import { entryKeyOf } from '../manifests/diff.ts'
import { managedFieldsOf, withoutFieldsOf } from '../manifests/managed-fields.ts'
import type { KubeObject } from '../objects.ts'
import { type PathStep, parseJqPath, pathsOf } from './jq-paths.ts'

const ignoreAnnotation = 'drift.fairlead.io/ignore'

const Pointer = z.string().regex(/^\//, 'must be a JSON pointer such as /spec/replicas')

const JqPath = z.string().superRefine((text, context) => {
  try {
    parseJqPath(text)
  } catch (error) {
    context.addIssue((error as Error).message)
  }
})

const anything = z.string().default('*')

export const IgnoreRule = z.strictObject({
  group: anything.describe('API group; `*` for all, empty for the core group.'),
  kind: anything.describe('Kind; `*` for all.'),
  name: z.string().optional().describe('Name of the object.'),
  namespace: z.string().optional().describe('Namespace of the object.'),
  jsonPointers: z.array(Pointer).default([]).describe('Fields such as `/spec/replicas`.'),
  jqPathExpressions: z
    .array(JqPath)
    .default([])
    .describe('Paths of jq, such as `.webhooks[]?.clientConfig.caBundle`.'),
  managedFieldsManagers: z
    .array(z.string())
    .default([])
    .describe('Managers whose fields do not count.'),
  respectIgnoreDifferences: z
    .boolean()
    .default(false)
    .describe('Whether deployments leave these fields of live objects as they are.'),
})
export type IgnoreRule = z.infer<typeof IgnoreRule>

/** What controllers write into objects that manifests name. */
export const usualRules: readonly IgnoreRule[] = (
  [
    ['*', '*', '/status'],
    ['*', '*', '/metadata/finalizers'],
    ['*', '*', '/metadata/ownerReferences'],
    ['*', '*', '/metadata/creationTimestamp'],
    ['*', '*', '/metadata/annotations/deployment.kubernetes.io~1revision'],
    ['*', '*', '/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration'],
    ['', 'ServiceAccount', '/secrets'],
    ['', 'PersistentVolumeClaim', '/spec/volumeName'],
    ['', 'Namespace', '/spec/finalizers'],
    ['apiextensions.k8s.io', 'CustomResourceDefinition', '/spec/preserveUnknownFields'],
    [
      'apiextensions.k8s.io',
      'CustomResourceDefinition',
      '/spec/conversion/webhook/clientConfig/caBundle',
    ],
  ] as const
).map(([group, kind, pointer]) => IgnoreRule.parse({ group, kind, jsonPointers: [pointer] }))

/** Rules in the annotation of an object; those that cannot be read are none. */
export function ownRulesOf(manifest: JsonObject): IgnoreRule[] {
  const written = parseIfJson(annotationOf(manifest, ignoreAnnotation) ?? '[]')
  return rulesIn(Array.isArray(written) ? written : [written])
}

/** Rules as users have stored them; those that cannot be read are none. */
export function rulesIn(value: unknown): IgnoreRule[] {
  return objectsOf(value).flatMap((each) => IgnoreRule.safeParse(each).data ?? [])
}

/** The manifest with the live values of what rules leave as it is. */
export function withKept(
  manifest: JsonObject,
  live: KubeObject,
  rules: readonly IgnoreRule[],
): JsonObject {
  const respected = rules.filter((rule) => rule.respectIgnoreDifferences)
  return restored(manifest, withoutIgnored(manifest, live, respected), live) as JsonObject
}

function restored(manifest: unknown, left: unknown, live: unknown): unknown {
  if (left === manifest) return manifest
  if (left === undefined || left === null) return live
  if (isObject(manifest)) {
    const entries = Object.entries(manifest).map(([key, value]) => [
      key,
      restored(value, fieldOf(left, key), fieldOf(live, key)),
    ])
    return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
  }
  if (!Array.isArray(manifest) || !Array.isArray(left)) return manifest
  const lists = [manifest, listOf(live)].map(objectsOf)
  const key = entryKeyOf(lists)
  return manifest.map((entry: unknown, index) => {
    const same = lists[1]?.find((each) => key && each[key] === fieldOf(entry, key))
    return restored(entry, left[index], key === undefined ? listOf(live)[index] : same) ?? entry
  })
}

/** The manifest without what the rules ignore. */
export function withoutIgnored(
  manifest: JsonObject,
  live: KubeObject,
  rules: readonly IgnoreRule[],
): JsonObject {
  return rules
    .filter((rule) => concerns(rule, live))
    .reduce<JsonObject>((left, rule) => {
      const paths = [
        ...rule.jsonPointers.map(pointerPath),
        ...rule.jqPathExpressions.flatMap((text) => pathsOf(parseJqPath(text), left)),
      ]
      const cut = paths.reduce<unknown>(withoutPath, left)
      return managedFieldsOf(live)
        .filter(({ manager }) => rule.managedFieldsManagers.includes(manager))
        .reduce<unknown>((kept, { fieldsV1 }) => withoutFieldsOf(kept, fieldsV1), cut) as JsonObject
    }, manifest)
}

function concerns({ group, kind, name, namespace }: IgnoreRule, live: KubeObject): boolean {
  const [own = '', version] = live.apiVersion.split('/')
  return (
    (group === '*' || group === (version === undefined ? '' : own)) &&
    (kind === '*' || kind === live.kind) &&
    (name === undefined || name === live.metadata.name) &&
    (namespace === undefined || namespace === live.metadata.namespace)
  )
}

function pointerPath(pointer: string): PathStep[] {
  return pointer
    .split('/')
    .slice(1)
    .map((step) => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

/** List entries become null, which counts as not named, so that the places of others stay. */
function withoutPath(value: unknown, [step, ...rest]: readonly PathStep[]): unknown {
  if (step === undefined) return undefined
  if (Array.isArray(value)) {
    return value.map((entry, index) =>
      String(index) === String(step) ? (withoutPath(entry, rest) ?? null) : entry,
    )
  }
  if (!isObject(value) || !Object.hasOwn(value, step)) return value
  const { [step]: found, ...kept } = value
  const left = withoutPath(found, rest)
  return left === undefined ? kept : { ...kept, [step]: left }
}
