/** What the engine would refuse beyond missing fields and wrong types: told before a pipeline is saved. */
import { standalone } from '../../../../src/settings/standalone.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../../model/read.ts'
import type { Path } from '../json-path.ts'
import { stagesBefore, titleOfStage, toNodes } from '../stages.ts'

interface Complaint {
  /** From the stage. */
  readonly path: Path
  readonly message: string
  readonly kind: 'missing' | 'wrong'
}

type Complaints = readonly Complaint[]

export const missing = (path: Path, message: string): Complaint => ({ path, message, kind: 'missing' })
export const wrong = (path: Path, message: string): Complaint => ({ path, message, kind: 'wrong' })
const unless = (isRight: boolean, complaint: Complaint): Complaints => (isRight ? [] : [complaint])

const buildStages = ['jenkins', 'travis', 'gitlab-ci', 'concourse', 'script', 'build']
const imageTriggers = ['docker', 'pipeline', 'artifact', ...buildStages]
const imageStages = [
  ...['bake', 'findImage', 'findImageFromCluster', 'findAmi', 'findImageFromTags', 'pipeline', 'evaluateVariables'],
  ...buildStages,
]

/** Keys of a server group that name its image. */
export const imageKeys = ['imageId', 'amiName', 'image', 'imageArtifactId']

/** What gives the stage an image unless it names one: stages before it, triggers, expected artifacts. */
export function imageSourcesOf(definition: Json, index: number): readonly string[] {
  const nodes = toNodes(definition)
  const before = stagesBefore(nodes, nodes[index]?.key ?? '')
  const has = (list: string, isOne: (item: Json) => boolean) => objectsOf(definition[list]).some(isOne)
  return [
    ...nodes
      .filter(({ key, stage }) => before.has(key) && imageStages.includes(String(stage['type'])))
      .map(({ stage }) => `“${titleOfStage(stage)}”`),
    ...(has('triggers', ({ type }) => imageTriggers.includes(String(type))) ? ['the trigger'] : []),
    ...(has('expectedArtifacts', () => true) ? ['an expected artifact'] : []),
  ]
}

function checkGroup(group: Json, path: Path, hasImage: boolean): Complaints {
  const isCopy = group['isClone'] === true || group['strategy'] === 'custom'
  const isFound = hasImage && imageKeys.every((key) => group[key] === undefined)
  return [
    ...unless(
      isCopy || isFound || imageKeys.some((key) => textOf(group[key]) !== undefined),
      missing([...path, 'imageId'], hasImage ? 'Choose an image.' : 'Choose an image: no stage before yields one.'),
    ),
    ...checkCapacity(group, path),
  ]
}

function checkCapacity(group: Json, path: Path): Complaints {
  const { min, max, desired } = objectOf(group['capacity'])
  const [least = 0, most = Number.POSITIVE_INFINITY] = [numberOf(min), numberOf(max)]
  const wanted = numberOf(desired)
  const takesSize = group['preferSourceCapacity'] === true || group['useSourceCapacity'] === true
  const at = (key: string) => [...path, 'capacity', key]
  if (min === undefined && max === undefined && desired === undefined)
    return unless(takesSize, missing(at('desired'), 'Enter how many instances there are.'))
  return [
    ...unless(wanted === undefined || wanted >= least, wrong(at('desired'), `At least ${least}.`)),
    ...unless(wanted === undefined || wanted <= most, wrong(at('desired'), `At most ${most}.`)),
    ...unless(least <= most, wrong(at('max'), `At least ${least}.`)),
  ]
}

function checkDeploy(stage: Json, definition: Json, index: number): Complaints {
  const clusters = objectsOf(stage['clusters'])
  const hasImage = imageSourcesOf(definition, index).length > 0
  if (clusters.length === 0 && stage['clusters'] !== undefined)
    return [missing(['clusters'], 'Add a server group: a deployment without one fails.')]
  return clusters.flatMap((cluster, at) => checkGroup(cluster, ['clusters', at], hasImage))
}

function checkBake(stage: Json): Complaints {
  if ((stage['cloudProviderType'] ?? stage['cloudProvider']) !== standalone.provider) return []
  const { git, directory } = objectOf(stage['extendedAttributes'])
  const folder = ['extendedAttributes', 'directory']
  return [
    ...unless(textOf(stage['package']) !== undefined, missing(['package'], 'Enter the name of the image.')),
    ...unless(textOf(stage['baseOs']) !== undefined, missing(['baseOs'], 'Choose how the image is made.')),
    ...unless(git !== '', missing(['extendedAttributes', 'git'], 'Enter the address of the repository.')),
    ...unless(directory !== '', missing(folder, 'Enter the path of the folder.')),
    ...unless(!/^(?!\/|\$\{)./.test(textOf(directory) ?? ''), wrong(folder, 'Write the whole path, beginning with “/”.')),
  ]
}

function checkCommand({ command }: Json): Complaints {
  const isGiven = textOf(command) !== undefined || (Array.isArray(command) && command.length > 0)
  return unless(isGiven, missing(['command'], 'Enter the command.'))
}

function checkWebhook(stage: Json): Complaints {
  const url = textOf(stage['url'])
  return unless(
    url === undefined || /\$\{|^https?:\/\//i.test(url),
    wrong(['url'], 'An address begins with https:// or http://.'),
  )
}

function checkManifests({ source, manifests, manifestArtifactId, manifestArtifact }: Json): Complaints {
  if (source === 'artifact')
    return unless(
      (manifestArtifactId ?? manifestArtifact) !== undefined,
      missing(['manifestArtifactId'], 'Choose the artifact with the manifests.'),
    )
  const isEmpty = manifests === undefined || (Array.isArray(manifests) && manifests.length === 0)
  return unless(!isEmpty, missing(['manifests'], 'Write at least one manifest.'))
}

export const checks: Readonly<Record<string, (stage: Json, definition: Json, index: number) => Complaints>> = {
  deploy: checkDeploy,
  createServerGroup: (stage, definition, index) => checkGroup(stage, [], imageSourcesOf(definition, index).length > 0),
  bake: checkBake,
  runCommand: checkCommand,
  script: checkCommand,
  webhook: checkWebhook,
  deployManifest: checkManifests,
}
