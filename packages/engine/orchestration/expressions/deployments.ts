/** Deployed server groups and manifests for expressions. @see docs/contracts/orchestration.md#functions */
import { fieldAt, isObject, type JsonObject, listOf, objectOf } from '@fairlead/base/json/values.ts'
import type { Meter } from '@fairlead/base/regex/meter.ts'
import type { Execution, Stage } from '../model.ts'
import { typeNameOf } from '../stages/stage-type.ts'
import { ExpressionError } from './lexer.ts'

const deployingTypes = ['deploy', 'createServerGroup', 'cloneServerGroup', 'rollingPush']

export function deployedServerGroups(
  execution: Execution,
  namesOrIds: readonly string[],
  meter?: Meter,
): JsonObject[] {
  meter?.spend(execution.stages.length * (1 + namesOrIds.length))
  return execution.stages
    .filter(
      (stage) =>
        deployingTypes.includes(typeNameOf(stage)) &&
        stage.status === 'SUCCEEDED' &&
        isObject(stage.context['deploy.server.groups']) &&
        (namesOrIds.length === 0 ||
          namesOrIds.includes(stage.name) ||
          namesOrIds.includes(stage.id)),
    )
    .map((stage) => deploymentOf(stage, meter))
}

function deploymentOf(stage: Stage, meter: Meter | undefined): JsonObject {
  const { context } = stage
  const zones = isObject(context['availabilityZones'])
    ? Object.keys(context['availabilityZones'])
    : []
  const region = context['region'] ?? zones[0]
  const groups = Object.values(context['deploy.server.groups'] as JsonObject).flat()
  const details = listOf(context['deploymentDetails'])
  meter?.spend(zones.length + groups.length + details.length)
  const matching = details.find((detail) => isObject(detail) && detail['region'] === region)
  return {
    ...objectOf(matching),
    account: context['account'],
    capacity: context['capacity'],
    parentStage: stage.parentStageId,
    region,
    serverGroup: groups[0],
    deployments: context['deployments'] ?? [],
  }
}

/** @throws {ExpressionError} when the stage has deployed no such manifest, or it has no such label. */
export function manifestLabelValue(
  stage: Stage,
  kind: string,
  label: string,
  meter: Meter,
): unknown {
  const deployed = listOf(stage.context['outputs.manifests'])
  const manifests = deployed.length > 0 ? deployed : listOf(stage.context['manifests'])
  meter.spend(manifests.length)
  const manifest = manifests.find((each) => isObject(each) && each['kind'] === kind)
  const value = fieldAt(manifest, 'spec', 'template', 'metadata', 'labels', label)
  if (value === undefined)
    throw new ExpressionError(
      `Stage "${stage.name}" has no ${kind} whose pods have the label "${label}".`,
    )
  return value
}
