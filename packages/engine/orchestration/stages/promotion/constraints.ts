/** Stages of a promotion for what its target declares: constraints in their order, deployments, verifications. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { Constraint } from '@fairlead/model/environments/declaration.ts'
import { StageError } from '../../machine/failure.ts'
import { inSequence, type NewStage } from '../stage-type.ts'
import type { PlannedDeployment } from './deployments.ts'
import type { Soak } from './places.ts'

interface Promotion {
  readonly application: string
  /** Names of the environments. */
  readonly from: string
  readonly to: string
  readonly version: string
  readonly constraints: readonly Constraint[]
  readonly deployments: readonly PlannedDeployment[]
  readonly soak: Omit<Soak, 'minutes'>
}

/** @throws {StageError} for a canary that nothing says how to deploy */
export function plannedStages(promotion: Promotion): NewStage[] {
  const { constraints, deployments } = promotion
  if (deployments.length === 0) return []
  const isAfterwards = ({ type }: Constraint) => type === 'verification'
  const toStages = (constraint: Constraint) => constraintStages(constraint, promotion)
  return inSequence([
    ...constraints.filter((each) => !isAfterwards(each)).flatMap(toStages),
    ...deployments.map(({ stage }) => stage),
    ...constraints.filter(isAfterwards).flatMap(toStages),
  ])
}

function constraintStages(constraint: Constraint, promotion: Promotion): NewStage[] {
  const { type, roles, instructions, minutes, days, whitelist, checks, rollback, ...fields } =
    constraint
  const { application, from, to, version, soak } = promotion
  const judgment = { instructions, requiredJudgmentRoles: roles ?? [] }
  switch (type) {
    case 'judgment':
      return [{ type: 'manualJudgment', name: `Judge ${version} for ${to}`, context: judgment }]
    case 'soakTime':
      return [
        {
          type: 'promote',
          name: `Soak time in ${from}`,
          context: { application, soak: { ...soak, minutes } },
        },
      ]
    case 'window': {
      const context = { restrictedExecutionWindow: { days, whitelist } }
      return [{ type: 'restrictExecutionDuringTimeWindow', name: `Window of ${to}`, context }]
    }
    case 'canary':
      return canaryStages(fields, promotion)
    case 'verification':
      return [{ type: 'verify', name: `Verify ${to}`, context: { ...fields, checks, rollback } }]
  }
}

/** One for each cluster that runs there already: a first deployment has nothing to be compared with. */
function canaryStages(fields: JsonObject, { to, deployments }: Promotion): NewStage[] {
  if (fields['deployments'] !== undefined)
    return [{ type: 'kayentaCanary', name: `Canary for ${to}`, context: fields }]
  const compared = deployments.filter(({ isFirst }) => !isFirst)
  return [...Map.groupBy(compared, ({ cluster }) => cluster)].map(([cluster, planned]) => ({
    type: 'kayentaCanary',
    name: `Canary of ${cluster} for ${to}`,
    context: {
      analysisType: 'realTimeAutomatic',
      ...fields,
      deployments: canaryDeployments(cluster, planned, fields),
    },
  }))
}

const oneInstance = { min: 1, max: 1, desired: 1 }

/** One instance of what runs there and one of the new version, in clusters of their own. */
function canaryDeployments(
  cluster: string,
  planned: readonly PlannedDeployment[],
  { trafficPercent, capacity = oneInstance }: JsonObject,
): JsonObject {
  const pairs = planned.map(({ canary }) => {
    if (canary === undefined) {
      throw new StageError([
        `Nothing says how a canary of ${cluster} is deployed: deploy it once by a stage "deploy", or give the constraint "deployments".`,
      ])
    }
    const { imageId, imageAccount, ...others } = canary
    const group = { ...others, strategy: '', capacity }
    const detailed = (word: string) => [canary.freeFormDetails, word].filter(Boolean).join('-')
    return {
      control: { ...group, freeFormDetails: detailed('baseline') },
      experiment: { ...group, imageId, imageAccount, freeFormDetails: detailed('canary') },
      trafficPercent,
    }
  })
  const { application, account, cloudProvider } = planned[0]?.canary ?? {}
  return { baseline: { application, account, cluster, cloudProvider }, serverGroupPairs: pairs }
}
