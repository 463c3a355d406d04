/** What the engine would refuse beyond missing fields and wrong types: told before a pipeline is saved. */

import {
  type JsonObject,
  numberOf,
  objectOf,
  objectsOf,
  scalarOf,
} from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import type { Path } from '../json-path.ts'
import { stagesBefore, titleOfStage, toNodes } from '../stages.ts'

interface Complaint {
  /** From the stage. */
  readonly path: Path
  readonly message: string
  readonly kind: 'missing' | 'wrong'
}

/** False where all is right. */
type Complaints = readonly (Complaint | false)[]

export const missing = (path: Path, message: string): Complaint => ({
  path,
  message,
  kind: 'missing',
})
export const wrong = (path: Path, message: string): Complaint => ({ path, message, kind: 'wrong' })
const isGiven = (value: unknown) => scalarOf(value) !== undefined

const buildStages = ['jenkins', 'travis', 'gitlab-ci', 'concourse', 'script', 'build']
const imageTriggers = ['docker', 'pipeline', 'artifact', ...buildStages]
const imageStages = [
  ...[
    'bake',
    'findImage',
    'findImageFromCluster',
    'findAmi',
    'findImageFromTags',
    'pipeline',
    'evaluateVariables',
  ],
  ...buildStages,
]

/** Keys of a server group that name its image. */
export const imageKeys = ['imageId', 'amiName', 'image', 'imageArtifactId']

/** What gives the stage an image unless it names one: stages before it, triggers, expected artifacts. */
export function imageSourcesOf(definition: JsonObject, index: number): readonly string[] {
  const nodes = toNodes(definition)
  const before = stagesBefore(nodes, nodes[index]?.key ?? '')
  const has = (list: string, isOne: (item: JsonObject) => boolean) =>
    objectsOf(definition[list]).some(isOne)
  return [
    ...nodes
      .filter(({ key, stage }) => before.has(key) && imageStages.includes(String(stage['type'])))
      .map(({ stage }) => `“${titleOfStage(stage)}”`),
    ...(has('triggers', ({ type }) => imageTriggers.includes(String(type))) ? ['the trigger'] : []),
    ...(has('expectedArtifacts', () => true) ? ['an expected artifact'] : []),
  ]
}

/** Server groups of another provider have other fields. */
function checkGroup(group: JsonObject, path: Path, hasImage: boolean): Complaints {
  if ((group['cloudProvider'] ?? group['provider'] ?? standalone.provider) !== standalone.provider)
    return []
  const isCopy = group['isClone'] === true || group['strategy'] === 'custom'
  const isFound = hasImage && imageKeys.every((key) => group[key] === undefined)
  const isNamed = imageKeys.some((key) => isGiven(group[key]))
  const message = hasImage ? 'Choose an image.' : 'Choose an image: no stage before yields one.'
  return [
    !isCopy && !isFound && !isNamed && missing([...path, 'imageId'], message),
    ...checkCapacity(group, path),
  ]
}

function checkCapacity(
  { capacity, preferSourceCapacity, useSourceCapacity }: JsonObject,
  path: Path,
): Complaints {
  const { min, max, desired } = objectOf(capacity)
  const [least = 0, most = Number.POSITIVE_INFINITY, wanted = least] = [min, max, desired].map(
    numberOf,
  )
  const takesSize = preferSourceCapacity === true || useSourceCapacity === true
  const at = (key: string) => [...path, 'capacity', key]
  if ((min ?? max ?? desired) === undefined)
    return [!takesSize && missing(at('desired'), 'Enter how many instances there are.')]
  return [
    wanted < least && wrong(at('desired'), `At least ${least}.`),
    wanted > most && least <= most && wrong(at('desired'), `At most ${most}.`),
    least > most && wrong(at('max'), `At least ${least}.`),
  ]
}

function checkDeploy({ clusters }: JsonObject, definition: JsonObject, index: number): Complaints {
  const groups = objectsOf(clusters)
  if (groups.length === 0 && clusters !== undefined)
    return [missing(['clusters'], 'Add a server group: a deployment without one fails.')]
  const hasImage = imageSourcesOf(definition, index).length > 0
  return groups.flatMap((group, at) => checkGroup(group, ['clusters', at], hasImage))
}

function checkBake(stage: JsonObject): Complaints {
  if ((stage['cloudProviderType'] ?? stage['cloudProvider']) !== standalone.provider) return []
  const { git, directory } = objectOf(stage['extendedAttributes'])
  const folder = ['extendedAttributes', 'directory']
  return [
    !isGiven(stage['package']) && missing(['package'], 'Enter the name of the image.'),
    !isGiven(stage['baseOs']) && missing(['baseOs'], 'Choose how the image is made.'),
    git === '' && missing(['extendedAttributes', 'git'], 'Enter the address of the repository.'),
    directory === '' && missing(folder, 'Enter the path of the folder.'),
    /^(?!\/|\$\{)./.test(scalarOf(directory) ?? '') &&
      wrong(folder, 'Write the whole path, beginning with “/”.'),
  ]
}

function checkCommand({ command }: JsonObject): Complaints {
  const isThere = Array.isArray(command) ? command.length > 0 : isGiven(command)
  return [!isThere && missing(['command'], 'Enter the command.')]
}

function checkManifests({
  source,
  manifests = [],
  manifestArtifactId,
  manifestArtifact,
}: JsonObject): Complaints {
  const isChosen = (manifestArtifactId ?? manifestArtifact) !== undefined
  if (source === 'artifact')
    return [!isChosen && missing(['manifestArtifactId'], 'Choose the artifact with the manifests.')]
  const isEmpty = Array.isArray(manifests) && manifests.length === 0
  return [isEmpty && missing(['manifests'], 'Write at least one manifest.')]
}

const checks: Readonly<
  Record<string, (stage: JsonObject, definition: JsonObject, index: number) => Complaints>
> = {
  deploy: checkDeploy,
  createServerGroup: (stage, definition, index) =>
    checkGroup(stage, [], imageSourcesOf(definition, index).length > 0),
  bake: checkBake,
  runCommand: checkCommand,
  script: checkCommand,
  webhook: ({ url }) => [
    !/\$\{|^https?:\/\//i.test(scalarOf(url) ?? 'https://') &&
      wrong(['url'], 'An address begins with https:// or http://.'),
  ],
  deployManifest: checkManifests,
}

/** @param index Its place in the definition. */
export function checkStage(
  stage: JsonObject,
  definition: JsonObject,
  index: number,
): readonly Complaint[] {
  const found = checks[scalarOf(stage['type']) ?? '']?.(stage, definition, index) ?? []
  return found.filter((each) => each !== false)
}
