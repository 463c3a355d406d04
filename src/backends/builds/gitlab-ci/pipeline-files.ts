/** What pipelines leave behind: archives, property files, and the logs of their jobs. */
import { fieldAt, fieldOf, type JsonObject, numberOf, objectOf, objectsOf, textOf } from '../../../json/values.ts'
import { encodeSegments } from '../../../net/encode-path.ts'
import { parseProperties } from '../property-file.ts'
import { type JobLog, joinLogs } from '../remote/joined-logs.ts'
import { readLogProperties } from '../remote/log-properties.ts'
import { readPages, toPagePath } from '../remote/pages.ts'
import type { ServerCalls } from '../server-calls.ts'
import { projectPath } from './projects.ts'

const pageLength = 100
const maxPropertyBytes = 1024 * 1024

export class PipelineFiles {
  readonly #calls: ServerCalls
  readonly #address: string

  /** @param address Base of the API */
  constructor(calls: ServerCalls, address: string) {
    this.#calls = calls
    this.#address = address
  }

  /** The archive of each job is one artifact: a zip file, which an artifact account of type `http` can fetch. */
  async artifacts(project: string, number: number): Promise<readonly JsonObject[] | undefined> {
    const jobs = await this.#jobs(project, number)
    return jobs?.filter(hasArchive).map((job) => {
      const archive = objectOf(job['artifacts_file'])
      const path = `${String(job['name'])}/${textOf(archive['filename']) ?? 'artifacts.zip'}`
      return {
        fileName: textOf(archive['filename']) ?? 'artifacts.zip',
        displayPath: path,
        relativePath: path,
        type: 'http/file',
        name: path,
        version: String(number),
        reference: `${this.#address}${jobPath(project, job)}/artifacts`,
        metadata: { id: numberOf(job['id']), size: numberOf(archive['size']) },
        decorated: false,
      }
    })
  }

  /** Of the file in the archives, the newest first; else what the logs print. Undefined: there are neither. */
  async properties(project: string, number: number, fileName: string): Promise<JsonObject | undefined> {
    const jobs = await this.#jobs(project, number)
    if (jobs === undefined) return undefined
    for (const job of jobs.filter(hasArchive).toReversed()) {
      const file = await this.#calls.download(`${jobPath(project, job)}/artifacts/${encodeSegments(fileName)}`, maxPropertyBytes)
      if (file !== undefined) return parseProperties(fileName, file.toString('utf8'))
    }
    const log = await this.#joinLogs(project, jobs)
    const properties = readLogProperties(log)
    return Object.keys(properties).length === 0 ? undefined : properties
  }

  /** Undefined: the pipeline is missing. */
  async log(project: string, number: number): Promise<string | undefined> {
    const jobs = await this.#jobs(project, number)
    return jobs === undefined ? undefined : this.#joinLogs(project, jobs)
  }

  #joinLogs(project: string, jobs: readonly JsonObject[]): Promise<string> {
    const logs = jobs.map((job): JobLog => {
      const title = `${textOf(job['stage']) ?? ''} / ${textOf(job['name']) ?? ''} (${textOf(job['status']) ?? 'unknown'})`
      return { title, load: (maxBytes) => this.#calls.download(`${jobPath(project, job)}/trace`, maxBytes) }
    })
    return joinLogs(logs)
  }

  /** In the order of their creation, with those of child pipelines of the same project. */
  async #jobs(project: string, number: number): Promise<readonly JsonObject[] | undefined> {
    const own = await this.#jobsOf(project, number)
    if (own === undefined) return undefined
    const bridges = (await this.#list(`${pipelinePath(project, number)}/bridges`)) ?? []
    const theirs = await Promise.all(bridges.flatMap(childOf).map((child) => this.#jobsOf(project, child)))
    return [...own, ...theirs.flatMap((jobs) => jobs ?? [])].sort((a, b) => idOf(a) - idOf(b))
  }

  #jobsOf(project: string, number: number): Promise<readonly JsonObject[] | undefined> {
    return this.#list(`${pipelinePath(project, number)}/jobs`)
  }

  /** Undefined: the pipeline is missing. */
  #list(path: string): Promise<readonly JsonObject[] | undefined> {
    const load = async (page: number) => {
      const items = await this.#calls.load(toPagePath(`${path}?per_page=${pageLength}`, page))
      return items === undefined ? undefined : objectsOf(items)
    }
    return readPages(load, { length: pageLength })
  }
}

export function pipelinePath(project: string, number: number): string {
  return `${projectPath(project)}/pipelines/${number}`
}

/** Number of the child pipeline that a bridge starts in the same project. */
function childOf(bridge: JsonObject): number | [] {
  const child = objectOf(bridge['downstream_pipeline'])
  const isOwn = child['project_id'] === fieldAt(bridge, 'pipeline', 'project_id')
  return isOwn ? (numberOf(child['id']) ?? []) : []
}

function jobPath(project: string, job: JsonObject): string {
  return `${projectPath(project)}/jobs/${idOf(job)}`
}

function idOf(job: JsonObject): number {
  return numberOf(job['id']) ?? 0
}

function hasArchive(job: JsonObject): boolean {
  return textOf(fieldOf(job['artifacts_file'], 'filename')) !== undefined
}
