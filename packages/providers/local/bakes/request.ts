/** Bake requests: their fields, where the source of a bake is, and the key by which equal requests share one bake. */
import { createHash } from 'node:crypto'
import { lstatSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import { formatJson } from '@fairlead/base/json/json.ts'
import { list, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import {
  isRevision,
  repositoryPattern,
  withoutUserinfo,
} from '@fairlead/base/outside/git-repository.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { looksSecret, mask, withoutSecrets } from '@fairlead/model/secrets/secret-names.ts'
import { lenientText } from '@fairlead/ports/requests/lenient-text.ts'
import { z } from 'zod'
import type { BakeSource } from './plan.ts'

const oneOf = <const T extends readonly [string, ...string[]]>(values: T) =>
  lenientText.refine(
    (value) => value === undefined || values.includes(value),
    `must be one of ${values.join(', ')}`,
  )

/** Fields that mean something here; others are ignored. */
const BakeRequest = z.object({
  package: lenientText,
  package_artifacts: z.array(z.record(z.string(), z.unknown())).nullish(),
  base_os: lenientText,
  base_label: oneOf(['release', 'candidate', 'previous', 'unstable', 'foundation']),
  base_ami: lenientText,
  base_name: lenientText,
  cloud_provider_type: lenientText,
  vm_type: oneOf(['hvm', 'pv']),
  store_type: oneOf(['ebs', 's3', 'docker']),
  ami_name: lenientText,
  ami_suffix: lenientText,
  account_name: lenientText,
  template_file_name: lenientText,
  var_file_name: lenientText,
  extended_attributes: z.record(z.string(), lenientText).nullish(),
  user: lenientText,
  build_host: lenientText,
  job: lenientText,
  build_number: lenientText,
  commit_hash: lenientText,
  build_info_url: lenientText,
  spinnaker_execution_id: lenientText,
})
export type BakeRequest = z.output<typeof BakeRequest>

const toArtifact = shape({
  type: textOf,
  reference: textOf,
  version: textOf,
  metadata: shape({ subPath: textOf }),
})
const toArtifacts = list(toArtifact)

/** @throws {PortError} 400 naming the fields that are wrong */
export function parseBakeRequest(body: unknown): BakeRequest {
  const parsed = BakeRequest.safeParse(body ?? {})
  if (parsed.success) return parsed.data
  throw new PortError(400, `The bake request is not usable: ${describeIssues(parsed.error)}.`)
}

export function bakeAttributeOf(
  { extended_attributes: attributes }: BakeRequest,
  name: string,
): string | undefined {
  return (attributes && Object.hasOwn(attributes, name) && attributes[name]) || undefined
}

interface PackageName {
  readonly word: string
  readonly name: string
  readonly version: string | undefined
}

/** `shop`, `shop_1.0.0` and `shop:1.0.0`, separated by blanks. */
export function packagesOf({ package: words = '' }: BakeRequest): PackageName[] {
  return words
    .split(/\s+/)
    .filter((word) => word !== '')
    .map((word) => {
      const [, name = word, version] = /^([^_:]+)[_:](.+)$/.exec(word) ?? []
      return { word, name, version }
    })
}

const archiveEndings = ['.tar.gz', '.tgz', '.tar']
/** Becomes a file name with the version and the ending. */
const wordPattern = /^[A-Za-z0-9][A-Za-z0-9._+:-]{0,119}$/

/**
 * Where the files come from: a repository or a directory where the request names one, else packages.
 *
 * @param folder With the packages.
 * @throws {PortError} 400
 */
export function sourcesOf(request: BakeRequest, folder: string): BakeSource[] {
  const repository = repositoryOf(request)
  if (repository !== undefined) return [repository]
  const directory =
    bakeAttributeOf(request, 'directory') ?? artifactReference(request, 'local/directory')
  if (directory !== undefined) {
    if (!isAbsolute(directory) || directory.includes('\0')) {
      throw new PortError(
        400,
        `The attribute "directory" must be an absolute path, and is "${directory}".`,
      )
    }
    return [{ kind: 'directory', path: directory }]
  }
  return packagesOf(request).map((each) => findPackage(each, folder))
}

function artifactReference(
  { package_artifacts: artifacts }: BakeRequest,
  type: string,
): string | undefined {
  return toArtifacts(artifacts).find((artifact) => artifact.type === type)?.reference
}

function repositoryOf(request: BakeRequest): Extract<BakeSource, { kind: 'git' }> | undefined {
  const artifact = toArtifacts(request.package_artifacts).find(({ type }) => type === 'git/repo')
  const url = bakeAttributeOf(request, 'git') ?? artifact?.reference
  if (url === undefined) return undefined
  if (!repositoryPattern.test(url)) {
    throw new PortError(
      400,
      `"${withoutUserinfo(url)}" is no address of a repository: use https://, ssh://, git@host:path or a path.`,
    )
  }
  const revision = bakeAttributeOf(request, 'revision') ?? artifact?.version ?? request.commit_hash
  if (revision !== undefined && !isRevision(revision)) {
    throw new PortError(400, `"${revision}" is no revision: name a branch, a tag or a commit.`)
  }
  const path = bakeAttributeOf(request, 'path') ?? artifact?.metadata.subPath
  if (path !== undefined && (isAbsolute(path) || path.split('/').includes('..'))) {
    throw new PortError(
      400,
      `The attribute "path" must be a directory of the repository, and is "${path}".`,
    )
  }
  return { kind: 'git', url, revision, path }
}

function findPackage({ word, name, version }: PackageName, folder: string): BakeSource {
  if (!wordPattern.test(name) || (version !== undefined && !wordPattern.test(version))) {
    throw new PortError(
      400,
      `"${shorten(word)}" is no name of a package: use letters, digits, ".", "_", "+" and "-", 120 at most for name and version each.`,
    )
  }
  const stems = version === undefined ? [name] : [`${name}_${version}`, `${name}-${version}`]
  for (const stem of stems) {
    const path = join(folder, stem)
    if (lstatSync(path, { throwIfNoEntry: false })?.isDirectory())
      return { kind: 'directory', path }
    for (const ending of archiveEndings) {
      if (lstatSync(path + ending, { throwIfNoEntry: false })?.isFile())
        return { kind: 'archive', path: path + ending }
    }
  }
  throw new PortError(
    400,
    `There is no package "${word}" in ${folder}. Put it there as ${stems[0]}.tar.gz or as a directory, or set the extended ` +
      'attribute "git" or "directory".',
  )
}

/** Attributes that say where the source is; steps get all others as variables. */
const ownAttributes: ReadonlySet<string> = new Set(['git', 'directory', 'revision', 'path'])

/** Variables of the steps: `BAKE_` and the attribute's name in upper case. `copy_to` and `share_with` become numbered ones. */
export function variablesOf(request: BakeRequest): Record<string, string> {
  const found: Record<string, string> = {}
  const add = (name: string, value: string | undefined) => {
    if (value !== undefined)
      found[`BAKE_${name.toUpperCase().replaceAll(/[^A-Z0-9]/g, '_')}`] = value
  }
  for (const [name, value] of Object.entries(request.extended_attributes ?? {})) {
    if (ownAttributes.has(name)) continue
    if (name === 'copy_to' || name === 'share_with') {
      for (const [index, each] of (value ?? '').split(',').entries())
        add(`${name}_${index + 1}`, each.trim() || undefined)
    } else add(name, value)
  }
  add('package', request.package)
  add('base_os', request.base_os)
  add('build_number', request.build_number)
  add('commit_hash', request.commit_hash)
  return found
}

/** Values that no log shows: attributes with telling names, and passwords in addresses. */
export function secretsOf(
  request: BakeRequest,
  environment: Readonly<Record<string, string>>,
): string[] {
  const named = Object.entries({ ...environment, ...request.extended_attributes }).filter(
    ([name]) => looksSecret(name),
  )
  const address = bakeAttributeOf(request, 'git') ?? artifactReference(request, 'git/repo') ?? ''
  const [, userinfo] = /^\w+:\/\/([^/@\s]+)@/.exec(address) ?? []
  const password = userinfo?.includes(':') ? userinfo.slice(userinfo.indexOf(':') + 1) : userinfo
  const values = [...named.map(([, value]) => value), password].filter(
    (value) => typeof value === 'string' && value !== '',
  )
  return [...new Set(values as string[])].sort((one, other) => other.length - one.length)
}

/** Without values that must not be stored. */
export function maskRequest(request: BakeRequest, secrets: readonly string[]): BakeRequest {
  const attributes = Object.entries(request.extended_attributes ?? {}).map(([name, value]) => [
    name,
    value === undefined ? undefined : looksSecret(name) ? mask : withoutSecrets(value, secrets),
  ])
  const artifacts = request.package_artifacts?.map((artifact): JsonObject => {
    const { reference } = toArtifact(artifact)
    return {
      ...artifact,
      ...(reference !== undefined && { reference: withoutSecrets(reference, secrets) }),
    }
  })
  return {
    ...request,
    extended_attributes: Object.fromEntries(attributes),
    package_artifacts: artifacts,
  }
}

export interface BakeTarget {
  readonly account: string
  readonly accounts: readonly string[] | undefined
}

/**
 * Equal requests for equal content have the same key; who asks, and for which build, does not count.
 *
 * @param content Of each source, as `fingerprintOf` has it
 * @see docs/contracts/bakery.md#keys
 */
export function keyOf(
  request: BakeRequest,
  target: BakeTarget,
  content: readonly unknown[],
): string {
  const { base_os, base_ami, ami_name, ami_suffix, template_file_name, var_file_name } = request
  const attributes = Object.entries(request.extended_attributes ?? {}).sort(([one], [other]) =>
    one < other ? -1 : 1,
  )
  const parts = [
    'local',
    base_os,
    base_ami,
    ami_name,
    template_file_name,
    var_file_name,
    packagesOf(request).map(({ word }) => word),
  ]
  return createHash('sha256')
    .update(
      formatJson(
        [...parts, ami_suffix, target.account, target.accounts, attributes, content].map(
          (part) => part ?? null,
        ),
      ),
    )
    .digest('hex')
}

/** Whether the source stays the same for ever: a branch moves, and so may a tag. */
export function isFixed(sources: readonly BakeSource[]): boolean {
  return sources.every(
    (source) => source.kind !== 'git' || /^[0-9a-f]{40,64}$/.test(source.revision ?? ''),
  )
}
