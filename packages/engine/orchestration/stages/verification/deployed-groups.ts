/** Server groups that a stage verifies: those that it names, else those of the nearest deployment ahead of it. */
import { shape } from '@fairlead/base/json/shape.ts'
import { textOf } from '@fairlead/base/json/values.ts'
import { parseMoniker } from '@fairlead/base/names/moniker.ts'
import { graphOf } from '../../machine/graph.ts'
import { isTopLevel, type Stage, type StagePlace } from '../../model.ts'
import {
  createdClusterOf,
  createdIn,
  locationOf,
  requireAccount,
  type ServerGroupTarget,
  serverGroupNameOf,
  stageProviderOf,
} from '../infrastructure/cloud-context.ts'
import { createdNote } from '../infrastructure/notes.ts'
import { typeNameOf } from '../stage-type.ts'

const toNamed = shape({ application: textOf, cluster: textOf, moniker: shape({ cluster: textOf }) })

export interface DeployedGroup extends ServerGroupTarget {
  readonly cluster: string
  readonly moniker: { readonly app: string; readonly cluster: string }
}

/** Empty when nothing was deployed. @throws {StageError} when the stage names one without its place */
export function deployedGroups({ execution, stage }: StagePlace): DeployedGroup[] {
  const name = serverGroupNameOf(stage.context)
  if (name !== undefined) {
    const named = parseMoniker(name)
    const given = toNamed(stage.context)
    const cluster = given.cluster ?? given.moniker.cluster ?? named.cluster ?? name
    return [
      {
        ...locationOf(stage.context),
        name,
        cluster,
        moniker: { app: named.app ?? execution.application, cluster },
      },
    ]
  }
  const graph = graphOf(execution)
  const hasDeployed = (each: Stage) => hasCreated(each) && !isOfCanary({ execution, stage: each })
  const nearest = graph.ancestorsOf(stage).find((each) => each !== stage && hasDeployed(each))
  if (nearest === undefined) return []
  const stages = isTopLevel(nearest) ? [nearest] : graph.descendantsOf(graph.topLevelOf(nearest))
  return stages.filter(hasDeployed).flatMap((each) => createdBy(each, execution.application))
}

function hasCreated({ outputs }: Stage): boolean {
  return createdNote.in(outputs).length > 0
}

/** Baseline and canary go with their analysis. */
function isOfCanary({ execution, stage }: StagePlace): boolean {
  return graphOf(execution)
    .upwardsFrom(stage)
    .some((each) => typeNameOf(each) === 'kayentaCanary')
}

function createdBy({ context, outputs }: Stage, ofExecution: string): DeployedGroup[] {
  const { application = ofExecution } = toNamed(context)
  const cluster = createdClusterOf(context, application)
  const place = { provider: stageProviderOf(context), account: requireAccount(context) }
  const moniker = { app: application, cluster }
  return createdIn(outputs, place).map((group) => ({ ...group, cluster, moniker }))
}
