/** What is polled at artifact accounts: tags of images, charts, and versions of any artifact that is listed. */
import { definedOf, textOf } from '@fairlead/base/json/values.ts'
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { trackedTags } from '../kinds/registry.ts'
import { createVersionSource } from './artifact-versions.ts'
import type { PolledSource } from './polled-source.ts'

/** @param type Type of the trigger and of its artifact */
function imageTags(triggerType: string, type: string): PolledSource {
  return createVersionSource({
    triggerType,
    toName: ({ account, repository }) => named(account, type, repository),
    tracked: trackedTags,
    toContent: ({ account, name, version, digest, host }, trigger) =>
      definedOf({ account, registry: host, repository: name, tag: version, digest, tracked: trackedTags(trigger) }),
  })
}

const charts = createVersionSource({
  triggerType: 'helm',
  // A trigger for all charts of a repository starts by events alone.
  toName: ({ account, chart }) => named(account, 'helm/chart', chart),
  toContent: ({ account, name, version, digest }) => definedOf({ account, chart: name, version, digest }),
})

const artifacts = createVersionSource({
  triggerType: 'artifact',
  toName: ({ account, artifactType, name }) => named(account, textOf(artifactType) ?? '', name),
  toContent: ({ account, type, name, version }) => ({
    account,
    type,
    name,
    version,
    reference: referenceOf(type, name, version),
  }),
})

export const registrySources: readonly PolledSource[] = [
  imageTags('docker', 'docker/image'),
  imageTags('helm/oci', 'helm/image'),
  charts,
  artifacts,
]

function named(account: unknown, type: string, name: unknown) {
  const [accountName, artifactName] = [textOf(account), textOf(name)]
  if (accountName === undefined || artifactName === undefined || type === '') return undefined
  return { account: accountName, type, name: artifactName }
}

const referredByVersion: ReadonlySet<string> = new Set([
  'docker/image',
  'helm/image',
  'maven/file',
  `${standalone.provider}/image`,
])

/** As accounts of the type read it. */
function referenceOf(type: string, name: string, version: string): string {
  return referredByVersion.has(type) ? `${name}:${version}` : name
}
