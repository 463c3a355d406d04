/** What the engine would refuse beyond missing fields and wrong types: told before a pipeline is saved. */
import { standalone } from '../../../../src/settings/standalone.ts'
import { type Json, numberOf, objectOf, objectsOf, textOf } from '../../model/read.ts'
import type { Path } from '../json-path.ts'
import { type StageNode, titleOfStage, toNodes } from '../stages.ts'

interface Complaint {
  /** From the stage. */
  readonly path: Path
  readonly message: string
  readonly kind: 'missing' | 'wrong'
}

type Check = (stage: Json, definition: Json, index: number) => readonly Complaint[]

const imageStages = ['bake', 'findImage', 'findImageFromCluster', 'findAmi', 'findImageFromTags', 'pipeline', 'evaluateVariables']
const buildStages = ['jenkins', 'travis', 'gitlab-ci', 'concourse', 'script', 'build']
const imageTriggers = ['docker', 'pipeline', 'artifact', ...buildStages]

/** What gives the stage an image unless it names one: stages before it, triggers, expected artifacts. */
export function imageSourcesOf(definition: Json, index: number): readonly string[] {
  const before = stagesBefore(definition, index).filter(({ stage }) =>
    [...imageStages, ...buildStages].includes(textOf(stage['type']) ?? ''),
  )
  const triggers = objectsOf(definition['triggers']).filter(({ type }) => imageTriggers.includes(textOf(type) ?? ''))
  const artifacts = objectsOf(definition['expectedArtifacts'])
  return [
    ...before.map(({ stage }) => `“${titleOfStage(stage)}”`),
    ...(triggers.length > 0 ? ['the trigger'] : []),
    ...(artifacts.length > 0 ? ['an expected artifact'] : []),
  ]
}

function stagesBefore(definition: Json, index: number): readonly StageNode[] {
  const nodes = toNodes(definition)
  const found = new Set<string>()
  const open = [...(nodes[index]?.requires ?? [])]
  for (let key = open.pop(); key !== undefined; key = open.pop()) {
    if (found.has(key)) continue
    found.add(key)
    open.push(...(nodes.find((node) => node.key === key)?.requires ?? []))
  }
  return nodes.filter(({ key }) => found.has(key))
}

function checkGroup(group: Json, path: Path, hasImage: boolean): readonly Complaint[] {
  const isCopy = group['isClone'] === true || textOf(group['strategy']) === 'custom'
  const names = ['imageId', 'amiName', 'image', 'imageArtifactId'].some((key) => group[key] !== undefined)
  const noImage: Complaint = {
    path: [...path, 'imageId'],
    message: 'Choose an image: no stage before yields one.',
    kind: 'missing',
  }
  return [...(names || hasImage || isCopy ? [] : [noImage]), ...checkCapacity(group, path)]
}

function checkCapacity(group: Json, path: Path): readonly Complaint[] {
  const { min, max, desired } = objectOf(group['capacity'])
  const [least, most, wanted] = [numberOf(min), numberOf(max), numberOf(desired)]
  const at = (key: string, message: string): Complaint => ({ path: [...path, 'capacity', key], message, kind: 'wrong' })
  const takesSize = group['preferSourceCapacity'] === true || group['useSourceCapacity'] === true
  if (min === undefined && max === undefined && desired === undefined) {
    return takesSize ? [] : [{ ...at('desired', 'Enter how many instances there are.'), kind: 'missing' }]
  }
  return [
    ...(wanted !== undefined && least !== undefined && wanted < least ? [at('desired', `At least ${least}.`)] : []),
    ...(wanted !== undefined && most !== undefined && wanted > most ? [at('desired', `At most ${most}.`)] : []),
    ...(least !== undefined && most !== undefined && least > most ? [at('max', `At least ${least}.`)] : []),
  ]
}

function checkDeploy(stage: Json, definition: Json, index: number): readonly Complaint[] {
  const clusters = objectsOf(stage['clusters'])
  const hasImage = imageSourcesOf(definition, index).length > 0
  if (clusters.length === 0 && stage['clusters'] !== undefined) {
    return [{ path: ['clusters'], message: 'Add a server group: a deployment without one fails.', kind: 'missing' }]
  }
  return clusters.flatMap((cluster, at) => checkGroup(cluster, ['clusters', at], hasImage))
}

function checkBake(stage: Json): readonly Complaint[] {
  if ((stage['cloudProviderType'] ?? stage['cloudProvider']) !== standalone.provider) return []
  const { git, directory } = objectOf(stage['extendedAttributes'])
  const folder = textOf(directory)
  const missing = (path: Path, message: string): Complaint => ({ path, message, kind: 'missing' })
  return [
    ...(textOf(stage['package']) === undefined ? [missing(['package'], 'Enter the name of the image.')] : []),
    ...(textOf(stage['baseOs']) === undefined ? [missing(['baseOs'], 'Choose how the image is made.')] : []),
    ...(git === '' ? [missing(['extendedAttributes', 'git'], 'Enter the address of the repository.')] : []),
    ...(folder !== undefined && !/^(\/|\$\{)/.test(folder)
      ? [
          {
            path: ['extendedAttributes', 'directory'],
            message: 'Write the whole path, beginning with “/”.',
            kind: 'wrong',
          } as const,
        ]
      : []),
  ]
}

function checkCommand(stage: Json): readonly Complaint[] {
  const { command } = stage
  const isGiven = textOf(command) !== undefined || (Array.isArray(command) && command.length > 0)
  return isGiven ? [] : [{ path: ['command'], message: 'Enter the command.', kind: 'missing' }]
}

function checkWebhook(stage: Json): readonly Complaint[] {
  const url = textOf(stage['url'])
  if (url === undefined || url.includes('${') || /^https?:\/\//i.test(url)) return []
  return [{ path: ['url'], message: 'An address begins with https:// or http://.', kind: 'wrong' }]
}

function checkManifests(stage: Json): readonly Complaint[] {
  if (stage['source'] === 'artifact') {
    const isGiven = stage['manifestArtifactId'] !== undefined || stage['manifestArtifact'] !== undefined
    return isGiven ? [] : [{ path: ['manifestArtifactId'], message: 'Choose the artifact with the manifests.', kind: 'missing' }]
  }
  const { manifests } = stage
  const isEmpty = manifests === undefined || (Array.isArray(manifests) && manifests.length === 0)
  return isEmpty ? [{ path: ['manifests'], message: 'Write at least one manifest.', kind: 'missing' }] : []
}

export const checks: Readonly<Record<string, Check>> = {
  deploy: checkDeploy,
  createServerGroup: (stage, definition, index) => checkGroup(stage, [], imageSourcesOf(definition, index).length > 0),
  bake: checkBake,
  runCommand: checkCommand,
  script: checkCommand,
  webhook: checkWebhook,
  deployManifest: checkManifests,
}
