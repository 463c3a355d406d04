import type { JsonObject } from '@fairlead/base/json/values.ts'
import { findImageByTags, findImageFields } from '@fairlead/model/stage-types/infrastructure.ts'
import { readFields } from '@fairlead/model/stage-types/read-fields.ts'
import type { CloudImage } from '@fairlead/ports/cloud-values.ts'
import { StageError } from '../../machine/failure.ts'
import type { StageType, TaskContext, TaskResult } from '../stage-type.ts'
import { requirePlaces, stageProviderOf } from './cloud-context.ts'
import { requireClusterPlace } from './server-groups.ts'

/** Words of the endpoint for the strategies by which a server group is selected. */
const strategies = new Map(
  ['NEWEST', 'LARGEST', 'OLDEST', 'FAIL'].map((name) => [name, name.toLowerCase()]),
)

export const findImageStages: readonly StageType[] = [
  'findImage',
  'findImageFromCluster',
  'findAmi',
  'findImageFromTags',
].map((type) => {
  const execute = type === 'findImageFromTags' ? findByTags : findImage
  return { type, steps: [{ name: 'findImage', execute, readsOnly: true, timeoutMs: 5 * 60_000 }] }
})

async function findImage(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const place = requireClusterPlace(settings, context)
  const { selectionStrategy, onlyEnabled } = readFields(findImageFields, settings)
  const target = strategies.get(selectionStrategy)
  if (target === undefined)
    throw new StageError([
      `The selection strategy "${selectionStrategy}" is unknown: use ${[...strategies.keys()].join(', ')}.`,
    ])
  const details: JsonObject[] = []
  for (const region of requirePlaces(settings)) {
    const group = await context.infrastructure.target({
      ...place,
      region,
      target,
      onlyEnabled,
      validateOldest: false,
    })
    if (group === undefined) {
      throw new StageError([
        `There is no ${onlyEnabled ? 'enabled ' : ''}server group of the cluster ${place.cluster} in ${place.account}/${region}` +
          `${onlyEnabled ? '. Set onlyEnabled to false to accept disabled ones' : ''}.`,
      ])
    }
    const of = { sourceServerGroup: group.name, buildInfo: group.buildInfo }
    details.push({ ...group.image.all, ...detailOf(group.image, region, context), ...of })
  }
  return found(details)
}

function detailOf(
  { imageId, imageName = imageId }: Pick<CloudImage, 'imageId' | 'imageName'>,
  region: string,
  { stage }: TaskContext,
): JsonObject {
  const cloudProvider = stageProviderOf(stage.context)
  return { imageId, ami: imageId, imageName, region, cloudProvider, refId: stage.refId }
}

function found(deploymentDetails: readonly JsonObject[]): TaskResult {
  const artifacts = deploymentDetails.map(({ imageId, imageName, region, cloudProvider }) => ({
    type: `${String(cloudProvider)}/image`,
    name: imageName,
    reference: imageId,
    location: region,
  }))
  const amiDetails = deploymentDetails
  return {
    status: 'SUCCEEDED',
    context: { amiDetails },
    outputs: { deploymentDetails, amiDetails, artifacts },
  }
}

async function findByTags(context: TaskContext): Promise<TaskResult> {
  const { context: settings } = context.stage
  const { packageName: text, tags: given } = readFields(findImageByTags.fields, settings)
  if (text === undefined) throw new StageError(['The stage names no package: set "packageName".'])
  const provider = stageProviderOf(settings)
  const tags = Object.fromEntries(Object.entries(given).map(([tag, value]) => [tag, String(value)]))
  const details: JsonObject[] = []
  for (const region of requirePlaces(settings)) {
    const images = await context.infrastructure.images({ provider, text, region, tags })
    const [newest] = images.toSorted((one, other) => createdAt(other) - createdAt(one))
    if (newest === undefined)
      throw new StageError([`There is no image of "${text}" with these tags in ${region}.`])
    const { amis, imageName } = newest
    const imageId = amis.find(({ location }) => location === region)?.name ?? newest.imageId
    details.push(detailOf({ imageId: imageId ?? imageName, imageName }, region, context))
  }
  return found(details)
}

function createdAt({ attributes }: CloudImage): number {
  return Date.parse(attributes.creationDate ?? '') || 0
}
