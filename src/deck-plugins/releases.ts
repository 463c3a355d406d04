/** Releases of plug-ins, as front50 and other repositories list them. */
import semver from 'semver'
import { z } from 'zod'

const Release = z.looseObject({
  version: z.string().regex(/^[\w.+-]{1,100}$/),
  url: z.string(),
  requires: z.string().nullish(),
  sha512sum: z.string().nullish(),
})

const Plugin = z.looseObject({
  id: z.string().regex(/^[\w.-]{1,200}$/),
  name: z.string().nullish(),
  releases: z.array(z.unknown()),
})

export interface PluginRelease {
  readonly id: string
  readonly name: string
  readonly version: string
  readonly url: string
  readonly sha512sum: string | undefined
  readonly isForDeck: boolean
}

export function readReleases(list: unknown): PluginRelease[] {
  if (!Array.isArray(list)) return []
  return list.flatMap((entry) => {
    const plugin = Plugin.safeParse(entry)
    if (!plugin.success) return []
    const { id, name, releases } = plugin.data
    return releases.flatMap((one) => {
      const release = Release.safeParse(one)
      if (!release.success) return []
      const { version, url, requires, sha512sum } = release.data
      return [
        { id, name: name || id, version, url, sha512sum: sha512sum || undefined, isForDeck: /\bdeck\b/i.test(requires ?? '') },
      ]
    })
  })
}

export function chooseRelease(
  releases: readonly PluginRelease[],
  id: string,
  version: string | undefined,
): PluginRelease | undefined {
  const own = releases.filter((release) => release.id === id)
  if (version !== undefined) return own.find((release) => release.version === version)
  return own
    .filter(({ isForDeck }) => isForDeck)
    .sort(byVersion)
    .at(-1)
}

function byVersion(left: PluginRelease, right: PluginRelease): number {
  const [one, other] = [
    semver.coerce(left.version, { includePrerelease: true }),
    semver.coerce(right.version, { includePrerelease: true }),
  ]
  return one === null || other === null ? (one === null ? -1 : 1) : semver.compare(one, other)
}
