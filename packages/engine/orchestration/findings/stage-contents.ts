/** What a stage would fail for although each of its fields has the right type. */
import { list, maybeObject, or, shape } from '@fairlead/base/json/shape.ts'
import {
  fieldOf,
  isTrue,
  type JsonObject,
  numberOf,
  objectsOf,
  scalarOf,
  textOf,
} from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { isExpression } from '@fairlead/model/stage-types/check-stage.ts'
import {
  imageKeysOfGroups,
  imageStages,
  imageTriggers,
} from '@fairlead/model/stage-types/image-sources.ts'
import { strategyOf } from '../stages/infrastructure/strategy-parts.ts'

interface Doubt {
  readonly field: string
  readonly message: string
}

const toGroup = shape({
  provider: [or(textOf, standalone.provider as string), 'cloudProvider', 'provider'],
  isClone: isTrue,
  strategy: textOf,
  image: [scalarOf, ...imageKeysOfGroups],
  preferSourceCapacity: isTrue,
  useSourceCapacity: isTrue,
  capacity: shape({ min: numberOf, max: numberOf, desired: numberOf }),
})
const toBake = shape({
  provider: [textOf, 'cloudProviderType', 'cloudProvider'],
  package: scalarOf,
  baseOs: scalarOf,
  extendedAttributes: shape({ directory: scalarOf }),
})
const toManifests = shape({
  source: textOf,
  artifact: [(value: unknown) => value, 'manifestArtifactId', 'manifestArtifact'],
})
const isEmptyList = (value: unknown) => Array.isArray(value) && value.length === 0
const doubt = (isOne: boolean, field: string, message: string): Doubt[] =>
  isOne ? [{ field, message }] : []

const contents: Readonly<Record<string, (stage: JsonObject, findsImage: boolean) => Doubt[]>> = {
  deploy: ({ clusters }, findsImage) => [
    ...doubt(
      isEmptyList(clusters),
      'clusters',
      'A deployment without a server group fails: add one.',
    ),
    ...objectsOf(clusters).flatMap((group, index) =>
      groupDoubts(group, `clusters[${index}].`, findsImage),
    ),
  ],
  createServerGroup: (stage, findsImage) => groupDoubts(stage, '', findsImage),
  bake: (stage) => {
    const { provider, package: name, baseOs, extendedAttributes } = toBake(stage)
    if (provider !== standalone.provider) return []
    const { directory = '/' } = extendedAttributes
    return [
      ...doubt(name === undefined, 'package', 'It needs the name of the image.'),
      ...doubt(baseOs === undefined, 'baseOs', 'It has to say how the image is made.'),
      ...doubt(
        !/^(?:\/|\$\{)/.test(directory),
        'extendedAttributes.directory',
        'Write the whole path, beginning with "/".',
      ),
    ]
  },
  runCommand: commandDoubts,
  script: commandDoubts,
  webhook: ({ url }) =>
    doubt(
      !/\$\{|^https?:\/\//i.test(scalarOf(url) ?? 'https://'),
      'url',
      'An address begins with https:// or http://.',
    ),
  checkPreconditions: ({ preconditions }) =>
    objectsOf(preconditions).flatMap(({ type, context }, index) =>
      doubt(
        type === 'expression' && scalarOf(fieldOf(context, 'expression')) === undefined,
        `preconditions[${index}].context.expression`,
        'It names no expression, so it fails. Write one as "expression" in "context".',
      ),
    ),
  deployManifest: (stage) => {
    const { source, artifact } = toManifests(stage)
    return source === 'artifact'
      ? doubt(
          artifact === undefined,
          'manifestArtifactId',
          'It does not say which artifact has the manifests.',
        )
      : doubt(
          isEmptyList(stage['manifests']) ||
            (stage['manifests'] === undefined && artifact !== undefined),
          'manifests',
          artifact === undefined
            ? 'It has no manifest to deploy: write one.'
            : 'It has no manifest to deploy, and names an artifact: set "source" to artifact.',
        )
  },
}

/** @param findsImage Whether the definition has anything that yields an image */
export function doubtsAboutContents(stage: JsonObject, findsImage: boolean): Doubt[] {
  return contents[textOf(stage['type']) ?? '']?.(stage, findsImage) ?? []
}

/** Server groups of another provider have other fields. */
function groupDoubts(given: JsonObject, path: string, findsImage: boolean): Doubt[] {
  const { provider, isClone, strategy, image, capacity, ...size } = toGroup(given)
  if (provider !== standalone.provider) return []
  const { min = 0, max = Number.POSITIVE_INFINITY, desired } = capacity
  const isCopy = isClone || strategy === 'custom'
  const hasSize =
    size.preferSourceCapacity ||
    size.useSourceCapacity ||
    maybeObject(given['capacity']) !== undefined
  return [
    ...doubt(
      !isCopy && !findsImage && image === undefined,
      `${path}imageId`,
      'It names no image, and nothing before it yields one.',
    ),
    ...doubt(
      !isExpression(strategy) &&
        strategyOf(given) === 'none' &&
        !/^(?:none)?$/i.test(strategy ?? ''),
      `${path}strategy`,
      `There is no strategy "${shorten(strategy ?? '')}", so it counts as none: former server groups go on serving. Choose another one.`,
    ),
    ...doubt(!hasSize, `${path}capacity.desired`, 'It does not say how many instances there are.'),
    ...doubt(min > max, `${path}capacity.max`, `It must be at least ${min}.`),
    ...doubt(
      desired !== undefined && min <= max && (desired < min || desired > max),
      `${path}capacity.desired`,
      `It must be at least ${min} and at most ${max}.`,
    ),
  ]
}

function commandDoubts({ command }: JsonObject): Doubt[] {
  const isThere = Array.isArray(command) ? command.length > 0 : scalarOf(command) !== undefined
  return doubt(!isThere, 'command', 'It needs a command.')
}

const toSources = shape({
  stages: list(shape({ type: String })),
  triggers: list(shape({ type: String })),
  expectedArtifacts: list((artifact) => artifact),
})

/** Whether a stage, a trigger or an expected artifact may bring an image. */
export function findsImages(definition: JsonObject): boolean {
  const { stages, triggers, expectedArtifacts } = toSources(definition)
  return (
    expectedArtifacts.length > 0 ||
    stages.some(({ type }) => imageStages.has(type)) ||
    triggers.some(({ type }) => imageTriggers.has(type))
  )
}
