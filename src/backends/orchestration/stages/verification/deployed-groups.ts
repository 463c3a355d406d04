/** Server groups that a stage verifies: those that it names, else those of the nearest deployment ahead of it. */
import { fieldOf, type JsonObject, objectOf, textOf, textsOf } from '../../../../json/values.ts'
import { parseMoniker } from '../../../../names/moniker.ts'
import { graphOf } from '../../machine/graph.ts'
import { isTopLevel, type Stage, type StagePlace } from '../../model.ts'
import {
  createdClusterOf,
  locationOf,
  requireAccount,
  type ServerGroupTarget,
  serverGroupNameOf,
  stageProviderOf,
} from '../infrastructure/cloud-context.ts'
import { typeNameOf } from '../stage-type.ts'

export interface DeployedGroup extends ServerGroupTarget {
  readonly cluster: string
  readonly moniker: JsonObject
}

const createdKey = 'deploy.server.groups'

/** Empty when nothing was deployed. @throws {StageError} when the stage names one without its place */
export function deployedGroups({ execution, stage }: StagePlace): DeployedGroup[] {
  const name = serverGroupNameOf(stage.context)
  if (name !== undefined) {
    const named = parseMoniker(name)
    const given = textOf(stage.context['cluster']) ?? textOf(fieldOf(stage.context['moniker'], 'cluster'))
    const cluster = given ?? named.cluster ?? name
    return [{ ...locationOf(stage.context), name, cluster, moniker: { app: named.app ?? execution.application, cluster } }]
  }
  const graph = graphOf(execution)
  const hasDeployed = (each: Stage) => hasCreated(each) && !isOfCanary({ execution, stage: each })
  const nearest = graph.ancestorsOf(stage).find((each) => each !== stage && hasDeployed(each))
  if (nearest === undefined) return []
  let deployment = nearest
  for (let parent = graph.parentOf(deployment); parent !== undefined; parent = graph.parentOf(deployment)) deployment = parent
  const stages = isTopLevel(nearest) ? [nearest] : graph.descendantsOf(deployment)
  return stages.filter(hasDeployed).flatMap((each) => createdBy(each, execution.application))
}

function hasCreated({ outputs }: Stage): boolean {
  return Object.keys(objectOf(outputs[createdKey])).length > 0
}

/** Baseline and canary go with their analysis. */
function isOfCanary({ execution, stage }: StagePlace): boolean {
  const graph = graphOf(execution)
  for (let each: Stage | undefined = stage; each !== undefined; each = graph.parentOf(each)) {
    if (typeNameOf(each) === 'kayentaCanary') return true
  }
  return false
}

function createdBy({ context, outputs }: Stage, ofExecution: string): DeployedGroup[] {
  const application = textOf(context['application']) ?? ofExecution
  const cluster = createdClusterOf(context, application)
  const place = { provider: stageProviderOf(context), account: requireAccount(context) }
  return Object.entries(objectOf(outputs[createdKey])).flatMap(([region, names]) =>
    textsOf(names).map((name) => ({ ...place, region, name, cluster, moniker: { app: application, cluster } })),
  )
}
