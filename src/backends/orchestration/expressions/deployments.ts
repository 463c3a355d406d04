/** What stages have deployed, as expressions ask for it (orchestration contract, 7.4). */
import type { Execution, JsonObject, Stage } from '../model.ts'
import { isJsonObject } from '../model.ts'
import { ExpressionError } from './lexer.ts'

const deployingTypes = ['deploy', 'createServerGroup', 'cloneServerGroup', 'rollingPush']

export function deployedServerGroups(execution: Execution, namesOrIds: readonly string[]): JsonObject[] {
  return execution.stages
    .filter(
      (stage) =>
        deployingTypes.includes(stage.type) &&
        stage.status === 'SUCCEEDED' &&
        isJsonObject(stage.context['deploy.server.groups']) &&
        (namesOrIds.length === 0 || namesOrIds.includes(stage.name) || namesOrIds.includes(stage.id)),
    )
    .map(deploymentOf)
}

function deploymentOf(stage: Stage): JsonObject {
  const { context } = stage
  const zones = isJsonObject(context['availabilityZones']) ? Object.keys(context['availabilityZones']) : []
  const region = context['region'] ?? zones[0]
  const groups = Object.values(context['deploy.server.groups'] as JsonObject).flat()
  const details = Array.isArray(context['deploymentDetails']) ? context['deploymentDetails'] : []
  const matching = details.find((detail) => isJsonObject(detail) && detail['region'] === region)
  return {
    ...(isJsonObject(matching) ? matching : {}),
    account: context['account'],
    capacity: context['capacity'],
    parentStage: stage.parentStageId,
    region,
    serverGroup: groups[0],
    deployments: context['deployments'] ?? [],
  }
}

/** @throws {ExpressionError} when the stage has deployed no such manifest, or it has no such label. */
export function manifestLabelValue(stage: Stage, kind: string, label: string): unknown {
  const manifests = stage.context['manifests']
  const manifest = (Array.isArray(manifests) ? manifests : []).find((each) => isJsonObject(each) && each['kind'] === kind)
  let value: unknown = manifest
  for (const key of ['spec', 'template', 'metadata', 'labels', label]) {
    value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined
  }
  if (value === undefined) throw new ExpressionError(`Stage "${stage.name}" has no ${kind} whose pods have the label "${label}".`)
  return value
}
