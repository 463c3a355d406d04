/** The image of a bake: its name, its description, and its content from the folder of the builder. */
import { basename } from 'node:path'
import { shape } from '@fairlead/base/json/shape.ts'
import { definedOf, textOf } from '@fairlead/base/json/values.ts'
import { shorten } from '@fairlead/base/names/edit-distance.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { readAsOwner } from '@fairlead/base/storage/directory-trees.ts'
import { parseImageId } from '@fairlead/ports/image-file.ts'
import type { ImageDescription } from '@fairlead/ports/machine.ts'
import type { ImageStore, StoredImage } from '../../images/image-store.ts'
import { adoptFolder } from '../program-sandbox.ts'
import type { Bake } from './bake-store.ts'
import { type BakeTemplate, imageFolder, reportFile } from './plan.ts'
import { type BakeRequest, bakeAttributeOf, packagesOf } from './request.ts'

/**
 * Takes the result of a builder over, as an archive that is read in the name of the bake's user: its processes may still change it.
 *
 * @param folder Of the builder, which its steps may have filled as they like
 */
export async function adoptImage(
  images: ImageStore,
  bake: Bake,
  { folder, template }: { readonly folder: string; readonly template: BakeTemplate | undefined },
): Promise<StoredImage> {
  const description = describeImage(bake, await readCommit(folder))
  return adoptFolder(
    images,
    { work: folder, name: imageFolder, what: 'bake' },
    { description, imageFile: template?.image },
  )
}

/** @throws {PortError} 400 */
export function bakedNameOf(request: BakeRequest): { name: string; version: string | undefined } {
  const [first] = packagesOf(request)
  const place = bakeAttributeOf(request, 'git') ?? bakeAttributeOf(request, 'directory') ?? ''
  const name = request.ami_name ?? first?.name ?? basename(place, '.git')
  const version =
    request.ami_suffix ??
    bakeAttributeOf(request, 'version') ??
    (request.ami_name === undefined ? first?.version : undefined)
  if (parseImageId(`${name}:${version ?? '1'}`) === undefined) {
    const given = shorten(version === undefined ? name : `${name}:${version}`)
    throw new PortError(
      400,
      `"${given}" is no name and version of an image. Set package or ami_name, and ami_suffix, each with 128 characters at most.`,
    )
  }
  return { name, version }
}

function describeImage(
  { id, name, version, accounts, request, user, createdMs }: Bake,
  commit: string | undefined,
): ImageDescription {
  const {
    build_info_url,
    job,
    build_number,
    build_host,
    base_os,
    package: packages,
    spinnaker_execution_id,
  } = request
  const source = {
    package: packages,
    git: bakeAttributeOf(request, 'git'),
    revision: bakeAttributeOf(request, 'revision'),
    directory: bakeAttributeOf(request, 'directory'),
  }
  return {
    name,
    version: version ?? `${createdMs}${commit === undefined ? '' : `-${commit.slice(0, 7)}`}`,
    labels: definedOf({
      commit: commit ?? request.commit_hash,
      branch: bakeAttributeOf(request, 'revision'),
      buildInfoUrl: build_info_url,
      job,
      buildNumber: build_number,
      host: build_host,
    }),
    tags: {},
    accounts,
    origin: {
      kind: 'bake',
      bake: id,
      user,
      baseOs: base_os,
      execution: spinnaker_execution_id,
      ...definedOf(source),
    },
  }
}

const maxReportBytes = 10_000

const toReport = shape({ commit: textOf })

/** The builder's steps may have written the report. */
async function readCommit(folder: string): Promise<string | undefined> {
  try {
    const report = await readAsOwner(folder, reportFile, maxReportBytes)
    const { commit } = toReport(JSON.parse(report ?? '{}'))
    return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined
  } catch {
    return undefined
  }
}
