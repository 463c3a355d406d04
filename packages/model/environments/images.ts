/** Names of images: labels and repositories, and those that manifests name. */

/** The tag of an image, else the beginning of its digest, else its name. */
export function imageLabelOf(image: string): string {
  const [named = '', digest] = image.slice(image.lastIndexOf('/') + 1).split('@')
  const tag = named.indexOf(':')
  return tag !== -1
    ? named.slice(tag + 1)
    : (digest?.slice(digest.indexOf(':') + 1).slice(0, 8) ?? named)
}

/** Its repository, without tag and digest. */
export function repositoryOf(image: string): string {
  const [named = ''] = image.split('@')
  const tag = named.indexOf(':', named.lastIndexOf('/') + 1)
  return tag === -1 ? named : named.slice(0, tag)
}

/** Images of all containers of manifests. */
export function imagesIn(value: unknown): string[] {
  if (Array.isArray(value)) return [...new Set(value.flatMap(imagesIn))]
  if (typeof value !== 'object' || value === null) return []
  const { image, ...rest } = value as Readonly<Record<string, unknown>>
  return [
    ...new Set([
      ...(typeof image === 'string' ? [image] : []),
      ...Object.values(rest).flatMap(imagesIn),
    ]),
  ]
}

/** Where a stage that has created a server group has its image: given, or found among what ran before. */
export const imageKeys = ['imageId', 'amiName', 'deploy.image'] as const

export function imageOfStage(context: Readonly<Record<string, unknown>>): string | undefined {
  const named = imageKeys.map((key) => context[key])
  return named.find((image): image is string => typeof image === 'string' && image !== '')
}
