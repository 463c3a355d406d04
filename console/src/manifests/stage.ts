/** Objects that a stage names in its context and outputs, and what its plan changes in them. */

import { asGiven, objectList, or, shape } from '@fairlead/base/json/shape.ts'
import {
  type JsonObject,
  objectOf,
  objectsOf,
  scalarOf,
  textsOf,
} from '@fairlead/base/json/values.ts'
import type { Stage } from '../model/execution.ts'
import { accountIn } from '../model/stage-output.ts'
import { lowerFirst, type ObjectPlace, placeIn, toFullName } from './object.ts'

const toManifests = objectList(
  shape({ kind: scalarOf, metadata: shape({ name: scalarOf, namespace: scalarOf }) }),
)

const toTarget = shape({
  named: [scalarOf, 'manifestName', 'manifest.name'],
  location: scalarOf,
  jobStatus: shape({ pods: objectList(shape({ name: String })), location: scalarOf }),
})

/** By namespace as the stage lists them, else those that it deployed, else the one that it acts on; and pods of its job. */
export function objectsOfStage({ context, outputs }: Stage): readonly ObjectPlace[] {
  const account = accountIn(context) ?? ''
  const place = (name: string, location = '') => ({ account, location, name })
  const value = (key: string) => outputs[key] ?? context[key]
  const byNamespace = {
    ...objectOf(value('outputs.manifestNamesByNamespace')),
    ...objectOf(value('deploy.jobs')),
  }
  const listed = Object.entries(byNamespace).flatMap(([namespace, names]) =>
    textsOf(names).map((name) => place(name, namespace === '_' ? '' : namespace)),
  )
  const deployed = toManifests(value('outputs.manifests')).flatMap(
    ({ kind, metadata: { name, namespace } }) =>
      kind && name ? [place(toFullName(lowerFirst(kind), name), namespace)] : [],
  )
  const { named, location: at, jobStatus } = toTarget(context)
  const own = named === undefined ? [] : [place(named, at)]
  const ofJob = jobStatus.pods.map(({ name }) => place(toFullName('pod', name), jobStatus.location))
  const found = [...([listed, deployed].find(({ length }) => length > 0) ?? own), ...ofJob]
  return [
    ...new Map(
      found.map((object) => [`${object.location}\n${object.name.toLowerCase()}`, object]),
    ).values(),
  ]
}

export function planOfStage({ context, outputs }: Stage): readonly PlannedObject[] {
  const plans = ['plan', 'outputs.plan'].flatMap((key) => [outputs[key], context[key]])
  return toPlan(plans.find((plan) => objectsOf(plan).length > 0))
}

export type PlannedObject = ReturnType<typeof toPlan>[number]

const changes = ['create', 'update', 'none', 'error'] as const

/** @param plan As the API or the output of a stage has it. */
export function toPlan(plan: unknown) {
  return objectsOf(plan).map((object) => ({ ...placeIn(object), ...readPlanned(object) }))
}

const readPlanned = shape({
  change: (value) => changes.find((change) => change === value) ?? 'none',
  fields: objectList(
    shape({ name: [or(scalarOf, ''), 'path'], change: asGiven, before: asGiven, after: asGiven }),
  ),
  message: scalarOf,
})

/** The number of the first document that is no manifest, counted from 1; 0 where all are. */
export function findNoManifest(documents: readonly unknown[]): number {
  const isManifest = ({ kind, metadata, items }: JsonObject) =>
    scalarOf(kind) && (metadata !== undefined || Array.isArray(items))
  return 1 + documents.findIndex((document) => !isManifest(objectOf(document)))
}
