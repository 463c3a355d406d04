/** What brings an image to a server group that names none, and where one names it. */
const builds = ['jenkins', 'travis', 'gitlab-ci', 'concourse', 'script', 'build']

/** Types of stages. */
export const imageStages: ReadonlySet<string> = new Set([
  'bake',
  'findImage',
  'findImageFromCluster',
  'findAmi',
  'findImageFromTags',
  'pipeline',
  'evaluateVariables',
  ...builds,
])

/** Types of triggers. */
export const imageTriggers: ReadonlySet<string> = new Set([
  'docker',
  'pipeline',
  'artifact',
  ...builds,
])

/** Keys of a server group. */
export const imageKeysOfGroups = ['imageId', 'amiName', 'image', 'imageArtifactId'] as const
