/** Marks of stored pipelines and templates: what their triggers wait for, the template of an instance, and what it notifies by. */

import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import {
  type DocumentMarks,
  type DocumentStore,
  type MarkRange,
  marksFrom,
} from '@fairlead/base/stores/document-store.ts'
import { pipelineOf } from '@fairlead/model/pipeline-templates/inheritance.ts'
import { templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import type { TriggeredBy } from '@fairlead/ports/definitions.ts'
import { triggerKinds } from '../events/kinds/all.ts'
import { typesOfDefinition } from '../notifications/warnings.ts'

/** Another number when marks change, or what a kind of trigger `awaits`. */
const rule = 3

export const pipelineMarks: DocumentMarks = {
  rule,
  of(pipeline) {
    const template = templateOf(pipeline)
    return [
      ...readPipeline(pipeline).triggers.flatMap(triggerMarks),
      ...(template === undefined ? [] : [templateMark(template)]),
      ...typesOfDefinition(pipeline).map(notificationMark),
    ]
  },
}

export const templateMarks: DocumentMarks = {
  rule,
  of: (template) => readPipeline(pipelineOf(template)).triggers.flatMap(triggerMarks),
}

/** Keys of the pipelines that may have such a trigger, of their own or inherited. */
export function keysOfTriggered(
  { pipelines, templates }: Readonly<Record<'pipelines' | 'templates', DocumentStore>>,
  wanted: TriggeredBy,
): string[] {
  const ranges = rangesOf(wanted)
  const instances = templates.keysMarked(ranges).map((key): MarkRange => {
    const mark = templateMark(key)
    return [mark, mark]
  })
  return pipelines.keysMarked([...ranges, ...instances])
}

/** Keys of the pipelines that may follow the end of one. */
export function keysOfFollowers(
  definitions: Parameters<typeof keysOfTriggered>[0],
  id: string,
): string[] {
  return keysOfTriggered(definitions, { types: ['pipeline'], about: [foldName(id)] })
}

/** Instances of a template, of all its versions, and of those whose ids begin so. */
export function instancesOf(pipelines: DocumentStore, template: string): JsonObject[] {
  return pipelines
    .keysMarked([marksFrom(templateMark(template))])
    .map((key) => pipelines.get(key))
    .filter((pipeline) => pipeline !== undefined)
}

/** Keys of the pipelines with a notification of a wanted type. */
export function keysOfNotifying(
  pipelines: DocumentStore,
  isWanted: (type: string) => boolean,
): string[] {
  const prefix = notificationMark('')
  const wanted = pipelines
    .marksIn(marksFrom(prefix))
    .filter((mark) => isWanted(mark.slice(prefix.length)))
  return pipelines.keysMarked(wanted.map((mark): MarkRange => [mark, mark]))
}

function notificationMark(type: string): string {
  return `notification ${type.toLowerCase()}`
}

function templateMark(id: string): string {
  return `template ${foldName(id)}`
}

/** Expressions may turn out to be any type or name. */
const any = '*'

function triggerMarks(trigger: JsonObject): string[] {
  const type = String(trigger['type'])
  if (isExpression(type)) return [triggerMark(any, '')]
  if (Object.values(trigger).some(isExpression)) return [triggerMark(type, any)]
  const names = namesIn(type, trigger).filter((name) => name !== undefined)
  return (names.length === 0 ? [''] : names).map((name) => triggerMark(type, name))
}

function namesIn(type: string, trigger: JsonObject): readonly (string | undefined)[] {
  if (type === 'pipeline') return [foldName(textOf(trigger['pipeline']) ?? '')]
  return triggerKinds.find(({ triggerTypes }) => triggerTypes.includes(type))?.awaits(trigger) ?? []
}

function rangesOf({ types, about }: TriggeredBy): MarkRange[] {
  const ranges = types.flatMap((type) =>
    about === undefined
      ? [marksFrom(triggerMark(type, ''))]
      : [...about, any].map(
          (name): MarkRange => [triggerMark(type, name), triggerMark(type, name)],
        ),
  )
  return [marksFrom(triggerMark(any, '')), ...ranges]
}

function triggerMark(type: string, name: string): string {
  return `trigger ${type}\n${name}`
}
