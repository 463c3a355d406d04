/** The user of a run that no user starts and whose trigger names none. */

import { formatJson } from '@fairlead/base/json/json.ts'
import { asGiven, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { joinUsers, usersOf } from '@fairlead/base/names/acting-users.ts'
import { isFromAppFile } from '@fairlead/model/app-file/source.ts'
import {
  isTemplateInstance,
  referenceOf,
  storedTemplate,
} from '@fairlead/model/pipeline-templates/inheritance.ts'
import { readPipeline } from '@fairlead/model/pipelines/definition.ts'
import { actsForSaver } from '@fairlead/model/rights/built-in-roles.ts'
import type { BackendContext } from '../backend.ts'
import { anonymous, itself } from '../caller.ts'

/** Fields of a pipeline that say nothing about what it does. Expressions read its name, so that is none of them. */
const marks: ReadonlySet<string> = new Set([
  'disabled',
  'index',
  'updateTs',
  'lastModified',
  'lastModifiedBy',
])
/** Versions that are compared at most. */
const mostVersions = 100

/**
 * The user who gave the pipeline its present content, and the one who saved its template: what a trigger starts, each of them could start.
 * `anonymous` where existing rules give rights to that name, unless an app file made the pipeline, or the pipeline does not tell.
 *
 * @see docs/contracts/events.md#user-of-a-run
 */
export async function automaticUserOf(
  context: BackendContext,
  pipeline: JsonObject,
): Promise<string> {
  const { permissions, authorization } = context.settings
  if (
    authorization !== true ||
    permissions === undefined ||
    !(isFromAppFile(pipeline) || actsForSaver(permissions, context.isNewData))
  )
    return anonymous
  const savers = [await authorOf(context, pipeline)]
  const template = isTemplateInstance(pipeline) ? storedTemplate(referenceOf(pipeline)) : undefined
  if (isTemplateInstance(pipeline))
    savers.push(
      saverOf(
        template &&
          (await context.ports.definitions.template(template, itself).catch(() => undefined)),
      ),
    )
  return savers.includes(undefined)
    ? anonymous
    : joinUsers(savers.flatMap((saver) => usersOf(String(saver))))
}

const toSaved = shape({ lastModifiedBy: textOf })

const toStart = shape({
  type: textOf,
  runAsUser: textOf,
  parentPipelineStageId: asGiven,
  parentExecution: shape({ trigger: asGiven }),
})

/** The same for one that follows from another run, with its trigger: undefined where a user started it through stages alone, or one is named. */
export async function automaticUserOfChild(
  context: BackendContext,
  pipeline: JsonObject,
): Promise<string | undefined> {
  let trigger = toStart(pipeline['trigger'])
  while (trigger.parentPipelineStageId !== undefined)
    trigger = toStart(trigger.parentExecution.trigger)
  const isChosen = trigger.type === 'manual' || trigger.runAsUser !== undefined
  const user = isChosen ? anonymous : await automaticUserOf(context, pipeline)
  return user === anonymous ? undefined : user
}

/** Who switches a pipeline on or off, or puts it elsewhere in the list, has not looked at what it does. */
async function authorOf(
  context: BackendContext,
  pipeline: JsonObject,
): Promise<string | undefined> {
  const { id } = readPipeline(pipeline)
  const wanted = { id: id ?? '', most: mostVersions }
  const versions =
    id === undefined
      ? []
      : await context.ports.definitions.pipelineVersions(wanted, itself).catch(() => [])
  const [current] = versions
  if (current === undefined) return saverOf(pipeline)
  const other = versions.findIndex((version) => contentOf(version) !== contentOf(current))
  return saverOf(versions.at(other === -1 ? -1 : other - 1))
}

/** What a pipeline does, equal for equal content. */
export function contentOf(version: JsonObject): string {
  const fields = Object.entries(version).filter(([name]) => !marks.has(name))
  return formatJson(fields.sort(([one], [other]) => (one < other ? -1 : 1)))
}

function saverOf(document: unknown): string | undefined {
  return toSaved(document).lastModifiedBy
}
