/** What runs leave behind: archives, property files in them, and the logs of their jobs. */
import { type JsonObject, numberOf, textOf } from '../../../json/values.ts'
import { pathTo } from '../../../net/encode-path.ts'
import { PortError } from '../../../ports/port-error.ts'
import { parseProperties } from '../property-file.ts'
import { type JobLog, joinLogs } from '../remote/joined-logs.ts'
import { readZipEntry } from '../remote/zip-entry.ts'
import type { ServerCalls } from '../server-calls.ts'
import { type ActionsApi, fullNameOf } from './actions-api.ts'
import type { Workflow } from './actions-kind.ts'

/** Of an archive in which a property file is looked for. */
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
    const archives = await this.#archives(workflow, number)
    return archives?.map((archive) => {
      const fileName = `${textOf(archive['name']) ?? 'archive'}.zip`
      return {
        fileName,
        displayPath: fileName,
        relativePath: fileName,
        type: 'http/file',
        name: fileName,
        version: String(number),
        reference: this.#address + archivePath(workflow, archive),
        metadata: { id: numberOf(archive['id']), size: numberOf(archive['size_in_bytes']) },
        decorated: false,
      }
    })
  }

  /**
   * Of the file in the archive of that name, else in any other one; undefined: no archive has it.
   *
   * @throws {PortError} 413 when it may be in an archive that is too large
   */
  async properties(workflow: Workflow, number: number, fileName: string): Promise<JsonObject | undefined> {
    const tooLarge = new Set<string>()
    const seen = new Set<unknown>()
    for (const load of this.#lookups(workflow, number, fileName)) {
      const archives = ((await load()) ?? []).filter(({ id }) => !seen.has(id))
      for (const archive of archives) {
        seen.add(archive['id'])
        const isTooLarge = (numberOf(archive['size_in_bytes']) ?? 0) > maxArchiveBytes
        if (isTooLarge) tooLarge.add(String(archive['name']))
        const text = isTooLarge ? undefined : await this.#read(workflow, archive, fileName)
        if (text !== undefined) return parseProperties(fileName, text)
      }
    }
    if (tooLarge.size === 0) return undefined
    const names = [...tooLarge].join(', ')
    const text = `${fileName} is in none of the small archives, and ${names} is larger than ${maxArchiveBytes} bytes`
    throw new PortError(413, `${text}. Upload the property file as an archive of its own.`)
  }

  async #read(workflow: Workflow, archive: JsonObject, fileName: string): Promise<string | undefined> {
    const bytes = await this.#calls.download(archivePath(workflow, archive), maxArchiveBytes)
    return bytes && readZipEntry(bytes, fileName)
  }

  /** Archives of the likely names, then all. */
  #lookups(workflow: Workflow, number: number, fileName: string) {
    const names = new Set([fileName, fileName.replace(/\.[^.]*$/, '')])
    const byName = [...names].map((name) => async () => {
      // A server may not know the filter.
      const archives = await this.#archives(workflow, number, name)
      return archives?.filter((archive) => archive['name'] === name)
    })
    return [...byName, () => this.#archives(workflow, number)]
  }

  /** Undefined: the run is missing, or the server lists no jobs. */
  async log(workflow: Workflow, number: number): Promise<string | undefined> {
    const jobs = await this.#api.jobs(workflow, number)
    if (jobs === undefined) return undefined
    const { owner, repository } = workflow
    const logs = jobs.map((job): JobLog => {
      const path = pathTo`/repos/${owner}/${repository}/actions/jobs/${String(numberOf(job['id']) ?? 0)}/logs`
      const state = textOf(job['conclusion']) ?? textOf(job['status']) ?? 'unknown'
      return { title: `${textOf(job['name']) ?? 'job'} (${state})`, load: (maxBytes) => this.#calls.download(path, maxBytes) }
    })
    return joinLogs(logs)
  }

  async #archives(workflow: Workflow, number: number, name?: string): Promise<readonly JsonObject[] | undefined> {
    const archives = await this.#api.archives(workflow, number, name)
    return archives?.filter(({ expired }) => expired !== true)
  }
}

function archivePath(workflow: Workflow, archive: JsonObject): string {
  const [owner = '', repository = ''] = fullNameOf(workflow).split('/')
  return pathTo`/repos/${owner}/${repository}/actions/artifacts/${String(numberOf(archive['id']) ?? 0)}/zip`
}
