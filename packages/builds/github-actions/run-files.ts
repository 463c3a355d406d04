/** What runs leave behind: archives, property files in them, and the logs of their jobs. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { type ZipEntry, zipEntries } from '@fairlead/base/storage/zip.ts'
import { parseProperties } from '../property-file.ts'
import { joinLogs } from '../remote/joined-logs.ts'
import type { ServerCalls } from '../server-calls.ts'
import { type ActionsApi, type Archive, fullNameOf } from './actions-api.ts'
import type { Workflow } from './actions-kind.ts'

/** Largest archive that is searched for a property file. */
const maxArchiveBytes = 64 * 1024 * 1024

export class RunFiles {
  readonly #calls: ServerCalls
  readonly #api: ActionsApi
  readonly #address: string

  /** @param address Base of the API */
  constructor(calls: ServerCalls, api: ActionsApi, address: string) {
    this.#calls = calls
    this.#api = api
    this.#address = address
  }

  /** Each archive is one artifact: a zip file, which an artifact account of type `http` can fetch. */
  async artifacts(workflow: Workflow, number: number): Promise<readonly JsonObject[] | undefined> {
    const archives = await this.#api.archives(workflow, number)
    return archives?.map((archive) => {
      const fileName = `${archive.name}.zip`
      return {
        fileName,
        displayPath: fileName,
        relativePath: fileName,
        type: 'http/file',
        name: fileName,
        version: String(number),
        reference: this.#address + archivePath(workflow, archive),
        metadata: { id: archive.id, size: archive.size },
        decorated: false,
      }
    })
  }

  /**
   * Properties from the file in the archive of that name, else in any other; undefined: no archive has it.
   *
   * @throws {PortError} 413 when it may be in an archive that is too large
   */
  async properties(
    workflow: Workflow,
    number: number,
    fileName: string,
  ): Promise<JsonObject | undefined> {
    const tooLarge = new Set<string>()
    const seen = new Set<number>()
    const names = [...new Set([fileName, fileName.replace(/\.[^.]*$/, '')])]
    // Archives of the likely names, then all.
    for (const name of [...names, undefined]) {
      const archives = (await this.#api.archives(workflow, number, name)) ?? []
      // A server may not know the filter.
      const meant = archives.filter(
        (each) => (name === undefined || each.name === name) && !seen.has(each.id),
      )
      for (const archive of meant) {
        seen.add(archive.id)
        const isTooLarge = (archive.size ?? 0) > maxArchiveBytes
        if (isTooLarge) tooLarge.add(archive.name)
        const bytes = isTooLarge
          ? undefined
          : await this.#calls.download(archivePath(workflow, archive), maxArchiveBytes)
        const text = bytes && (await readZipEntry(bytes, fileName))
        if (text !== undefined) return parseProperties(fileName, text)
      }
    }
    if (tooLarge.size === 0) return undefined
    const text = `${fileName} is in none of the small archives, and ${[...tooLarge].join(', ')} is larger than ${maxArchiveBytes} bytes`
    throw new PortError(413, `${text}. Upload the property file as an archive of its own.`)
  }

  /** Undefined: the run is missing, or the server lists no jobs. */
  async log(workflow: Workflow, number: number): Promise<string | undefined> {
    const jobs = await this.#api.jobs(workflow, number)
    const logs = jobs?.map(({ id, name, conclusion, status }) => ({
      title: `${name} (${conclusion ?? status})`,
      load: (maxBytes: number) =>
        this.#calls.download(`/repos/${fullNameOf(workflow)}/actions/jobs/${id}/logs`, maxBytes),
    }))
    return logs && joinLogs(logs)
  }
}

function archivePath(workflow: Workflow, { id }: Archive): string {
  return `/repos/${fullNameOf(workflow)}/actions/artifacts/${id}/zip`
}

const maxEntryBytes = 1024 * 1024

/**
 * The text of a file in an archive, by its path; else of the first file in any folder with that name; undefined: there is none.
 *
 * @throws {PortError} 502 when the archive is damaged, 413 when the file is too large
 */
async function readZipEntry(archive: Buffer, name: string): Promise<string | undefined> {
  try {
    const entry = findEntry(archive, name)
    const content = await entry?.unpack(maxEntryBytes)
    if (entry === undefined || content !== undefined) return content?.toString('utf8')
    throw new PortError(
      413,
      `The file ${entry.name} of the archive is larger than ${maxEntryBytes} bytes.`,
    )
  } catch (error) {
    if (error instanceof PortError) throw error
    throw new PortError(
      502,
      'The archive of the build cannot be read: it is damaged, or no zip archive.',
    )
  }
}

function findEntry(archive: Buffer, name: string): ZipEntry | undefined {
  let found: ZipEntry | undefined
  for (const entry of zipEntries(archive)) {
    if (entry.name === name) return entry
    if (entry.name.endsWith(`/${name}`)) found ??= entry
  }
  return found
}
