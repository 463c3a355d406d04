import { fieldOf, type JsonObject, objectOf, textOf } from '@fairlead/base/json/values.ts'
import type { CloudServerGroup } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import { isFalse } from '../../model.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { requirePlaces, stageProviderOf } from './cloud-context.ts'
import { requireClusterPlace } from './server-groups.ts'

/** Words of the endpoint for the strategies by which a server group is selected. */
const strategies: Readonly<Record<string, string>> = { NEWEST: 'newest', LARGEST: 'largest', OLDEST: 'oldest', FAIL: 'fail' }

export const findImageStages: readonly StageType[] = ['findImage', 'findImageFromCluster', 'findAmi', 'findImageFromTags'].map(
  (type) => {
    const execute = type === 'findImageFromTags' ? findByTags : findImage
    return { type, steps: [{ name: 'findImage', execute, readsOnly: true, timeoutMs: 5 * 60_000 }] }
  },
)

async function findImage(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const place = requireClusterPlace(stage.context, context)
  const { provider, account, cluster } = place
  const selection = textOf(stage.context['selectionStrategy']) ?? 'NEWEST'
  const target = textOf(fieldOf(strategies, selection))
  if (target === undefined)
    throw new StageError([`The selection strategy "${selection}" is unknown: use ${Object.keys(strategies).join(', ')}.`])
  const onlyEnabled = !isFalse(stage.context['onlyEnabled'])
  const details: JsonObject[] = []
  for (const region of requirePlaces(stage.context)) {
    const wanted = { ...place, region, target, onlyEnabled, validateOldest: false }
    const group = await context.infrastructure.target(wanted)
    if (group === undefined) {
      throw new StageError([
        `There is no ${onlyEnabled ? 'enabled ' : ''}server group of the cluster ${cluster} in ${account}/${region}` +
          `${onlyEnabled ? '. Set onlyEnabled to false to accept disabled ones' : ''}.`,
      ])
    }
    const { image } = group
    details.push(detailOf(image, { region, provider, stage: stage.refId, group }))
  }
  return found(details)
}

function detailOf(
  image: JsonObject,
  { region, provider, stage, group }: { region: string; provider: string; stage: string; group?: CloudServerGroup },
): JsonObject {
  const imageId = textOf(image['imageId']) ?? textOf(image['ami']) ?? textOf(image['name'])
  const imageName = textOf(image['imageName']) ?? textOf(image['name']) ?? imageId
  return {
    ...image,
    imageId,
    ami: imageId,
    imageName,
    region,
    cloudProvider: provider,
    refId: stage,
    ...(group !== undefined && { sourceServerGroup: group.name, buildInfo: group.buildInfo }),
  }
}

function found(details: readonly JsonObject[]): TaskResult {
  const artifacts = details.map(({ imageId, imageName, region, cloudProvider }) => ({
    type: `${String(cloudProvider)}/image`,
    name: imageName,
    reference: imageId,
    location: region,
  }))
  return {
    status: 'SUCCEEDED',
    context: { amiDetails: details },
    outputs: { deploymentDetails: details, amiDetails: details, artifacts },
  }
}

async function findByTags(context: TaskContext): Promise<TaskResult> {
  const { stage } = context
  const name = textOf(stage.context['packageName'])
  const provider = stageProviderOf(stage.context)
  if (name === undefined) throw new StageError(['The stage names no package: set "packageName".'])
  const tags = Object.fromEntries(Object.entries(objectOf(stage.context['tags'])).map(([tag, value]) => [tag, String(value)]))
  const details: JsonObject[] = []
  for (const region of requirePlaces(stage.context)) {
    const images = await context.infrastructure.images({ provider, text: name, region, tags })
    const [newest] = images.toSorted((one, other) => createdAt(other) - createdAt(one))
    if (newest === undefined) throw new StageError([`There is no image of "${name}" with these tags in ${region}.`])
    const ids = objectOf(newest['amis'])[region]
    const imageId = Array.isArray(ids) ? textOf(ids[0]) : textOf(newest['imageId'])
    const { imageName } = newest
    details.push(detailOf({ imageId: imageId ?? imageName, imageName }, { region, provider, stage: stage.refId }))
  }
  return found(details)
}

function createdAt(image: JsonObject): number {
  return Date.parse(String(objectOf(image['attributes'])['creationDate'] ?? '')) || 0
}
