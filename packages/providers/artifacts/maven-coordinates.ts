/** Coordinates of files in Maven repositories, and what their metadata says about versions. */
import { PortError } from '@fairlead/ports/port-error.ts'

export interface MavenCoordinates {
  readonly group: string
  readonly artifact: string
  readonly extension: string
  readonly classifier: string | undefined
  /** Undefined: the newest release. */
  readonly version: string | undefined
}

const form = 'group:artifact[:extension[:classifier]]:version'

/** @param version For a reference without one @throws {PortError} 400 */
export function parseCoordinates(reference: string, version: string | undefined): MavenCoordinates {
  const parts = reference.split(':')
  const isWhole = parts.length >= 3
  const [group = '', artifact = '', extension = 'jar', classifier] = isWhole ? parts.slice(0, -1) : parts
  const found = { group, artifact, extension, classifier, version: isWhole ? parts.at(-1) : version }
  const isWrong = [group, artifact, extension, classifier, found.version].some((part) => part !== undefined && !isName(part))
  if (parts.length < 2 || parts.length > 5 || isWrong)
    throw new PortError(400, `"${reference}" is no artifact of a Maven repository: write it as ${form}.`)
  return found
}

function isName(part: string): boolean {
  return /^[\w.+-]+$/.test(part) && !/^\.+$/.test(part) && !part.includes('..')
}

/** Folder of all versions. */
export function folderOf({ group, artifact }: MavenCoordinates): string {
  return `${group.replaceAll('.', '/')}/${artifact}`
}

/** @param fileVersion Of a snapshot, with the time of its build */
export function fileOf(coordinates: MavenCoordinates, version: string, fileVersion = version): string {
  const { artifact, classifier, extension } = coordinates
  return `${folderOf(coordinates)}/${version}/${artifact}-${fileVersion}${classifier === undefined ? '' : `-${classifier}`}.${extension}`
}

export interface MavenMetadata {
  readonly release: string | undefined
  readonly latest: string | undefined
  /** As they were deployed, the newest last. */
  readonly versions: readonly string[]
}

/** The elements are looked for as text: what matters of the format has no attributes and no nesting of its own kind. */
export function parseMetadata(xml: string): MavenMetadata {
  const versioning = elementOf(withoutComments(xml), 'versioning') ?? ''
  return {
    release: elementOf(versioning, 'release'),
    latest: elementOf(versioning, 'latest'),
    versions: elementsOf(elementOf(versioning, 'versions') ?? '', 'version'),
  }
}

/** The version in the name of a snapshot's file, such as `1.2-20261124.101010-7`; undefined where the metadata has none. */
export function snapshotVersion(xml: string, { extension, classifier, version = '' }: MavenCoordinates): string | undefined {
  const versioning = elementOf(withoutComments(xml), 'versioning') ?? ''
  const files = elementsOf(elementOf(versioning, 'snapshotVersions') ?? '', 'snapshotVersion')
  const own = files.find((each) => elementOf(each, 'extension') === extension && elementOf(each, 'classifier') === classifier)
  if (own !== undefined) return elementOf(own, 'value')
  const snapshot = elementOf(versioning, 'snapshot') ?? ''
  const [timestamp, build] = [elementOf(snapshot, 'timestamp'), elementOf(snapshot, 'buildNumber')]
  if (timestamp === undefined || build === undefined) return undefined
  return version.replace(/SNAPSHOT$/, `${timestamp}-${build}`)
}

function withoutComments(xml: string): string {
  const parts = xml.split('<!--')
  return parts.map((part, index) => (index === 0 ? part : (part.split('-->')[1] ?? ''))).join('')
}

/** Content of the first element with a name. */
function elementOf(xml: string, name: string): string | undefined {
  return elementsOf(xml, name)[0]
}

function elementsOf(xml: string, name: string): string[] {
  const parts = xml.split(`<${name}>`).slice(1)
  return parts.flatMap((part) => {
    const end = part.indexOf(`</${name}>`)
    return end === -1 ? [] : [part.slice(0, end).trim()]
  })
}
