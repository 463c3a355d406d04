/** What a deployment would change, as the API or a stage plans it. */
import { objectOf, objectsOf, textOf } from '../model/read.ts'

export interface PlannedChange {
  readonly path: string
  readonly change: string
  readonly before: unknown
  readonly after: unknown
}

export interface PlannedObject {
  readonly account: string
  readonly location: string
  readonly name: string
  readonly change: 'create' | 'update' | 'none' | 'error'
  readonly fields: readonly PlannedChange[]
  readonly message: string | undefined
}

const changes = ['create', 'update', 'none', 'error'] as const

/** @param plan As the API or the output of a stage has it. */
export function toPlan(plan: unknown): readonly PlannedObject[] {
  return objectsOf(plan).map((object) => ({
    account: textOf(object['account']) ?? '',
    location: textOf(object['namespace']) ?? '',
    name: textOf(object['name']) ?? '',
    change: changes.find((change) => change === object['change']) ?? 'none',
    fields: objectsOf(object['fields']).map((field) => ({
      path: textOf(field['path']) ?? '',
      change: textOf(field['change']) ?? 'changed',
      before: field['before'],
      after: field['after'],
    })),
    message: textOf(object['message']),
  }))
}

/** The number of the first document that is no manifest, counted from 1. */
export function findNoManifest(documents: readonly unknown[]): number | undefined {
  const at = documents.findIndex((document) => {
    const { kind, metadata, items } = objectOf(document)
    return textOf(kind) === undefined || (typeof metadata !== 'object' && !Array.isArray(items))
  })
  return at === -1 ? undefined : at + 1
}
