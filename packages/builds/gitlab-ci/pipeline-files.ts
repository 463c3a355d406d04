/** What pipelines leave behind: archives, property files, and the logs of their jobs. */

import { stripVTControlCharacters } from 'node:util'
import { parseJson } from '@fairlead/base/json/json.ts'
import { list, or, type ShapeOf, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, numberOf, textOf } from '@fairlead/base/json/values.ts'
import { encodeSegments } from '@fairlead/base/net/encode-path.ts'
import { parseProperties } from '../property-file.ts'
import { joinLogs } from '../remote/joined-logs.ts'
import { type ListedItem, readPages, toPagePath } from '../remote/pages.ts'
import type { ServerCalls } from '../server-calls.ts'
import { projectPath } from './projects.ts'

const pageLength = 100
const maxPropertyBytes = 1024 * 1024

type GitlabJob = ShapeOf<typeof toJob>
const toJob = shape({
  id: or(numberOf, 0),
  name: or(textOf, ''),
  stage: or(textOf, ''),
  status: or(textOf, 'unknown'),
  archive: [shape({ filename: textOf, size: numberOf }), 'artifacts_file'],
})
const toPlace = shape({ id: or(numberOf, 0), project_id: numberOf })
/** It starts a child pipeline. */
const toBridge = shape({
  id: or(numberOf, 0),
  child: [toPlace, 'downstream_pipeline'],
  pipeline: toPlace,
})

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
      const { id, name, archive } = job
      const { filename: fileName = '', size } = archive
      const path = `${name}/${fileName}`
      return {
        fileName,
        displayPath: path,
        relativePath: path,
        type: 'http/file',
        name: path,
        version: String(number),
        reference: `${this.#address}${jobPath(project, job)}/artifacts`,
        metadata: { id, size },
        decorated: false,
      }
    })
  }

  /** Properties from the file in the archives, newest first, else from the logs. */
  async properties(
    project: string,
    number: number,
    fileName: string,
  ): Promise<JsonObject | undefined> {
    const jobs = await this.#jobs(project, number)
    if (jobs === undefined) return undefined
    for (const job of jobs.filter(hasArchive).toReversed()) {
      const file = await this.#calls.download(
        `${jobPath(project, job)}/artifacts/${encodeSegments(fileName)}`,
        maxPropertyBytes,
      )
      if (file !== undefined) return parseProperties(fileName, file.toString('utf8'))
    }
    const properties = readLogProperties(await this.#joinLogs(project, jobs))
    return Object.keys(properties).length === 0 ? undefined : properties
  }

  /** Undefined: the pipeline is missing. */
  async log(project: string, number: number): Promise<string | undefined> {
    const jobs = await this.#jobs(project, number)
    return jobs && this.#joinLogs(project, jobs)
  }

  #joinLogs(project: string, jobs: readonly GitlabJob[]): Promise<string> {
    const logs = jobs.map((job) => ({
      title: `${job.stage} / ${job.name} (${job.status})`,
      load: (maxBytes: number) => this.#calls.download(`${jobPath(project, job)}/trace`, maxBytes),
    }))
    return joinLogs(logs)
  }

  /** In the order of their creation, with those of child pipelines of the same project. */
  async #jobs(project: string, number: number): Promise<readonly GitlabJob[] | undefined> {
    const jobsOf = (pipeline: number) =>
      this.#list(`${pipelinePath(project, pipeline)}/jobs`, toJob)
    const own = await jobsOf(number)
    if (own === undefined) return undefined
    const bridges = (await this.#list(`${pipelinePath(project, number)}/bridges`, toBridge)) ?? []
    const children = bridges.flatMap(({ child, pipeline }) =>
      child.project_id === pipeline.project_id ? child.id || [] : [],
    )
    const theirs = await Promise.all(children.map(jobsOf))
    return [...own, ...theirs.flatMap((jobs) => jobs ?? [])].sort((a, b) => a.id - b.id)
  }

  /** Undefined: the pipeline is missing. */
  #list<Item extends ListedItem>(
    path: string,
    read: (item: unknown) => Item,
  ): Promise<readonly Item[] | undefined> {
    const load = async (page: number) => {
      const items = await this.#calls.load(toPagePath(`${path}?per_page=${pageLength}`, page))
      return items === undefined ? undefined : list(read)(items)
    }
    return readPages(load, { length: pageLength })
  }
}

export function pipelinePath(project: string, number: number): string {
  return `${projectPath(project)}/pipelines/${number}`
}

function jobPath(project: string, { id }: GitlabJob): string {
  return `${projectPath(project)}/jobs/${id}`
}

function hasArchive({ archive }: GitlabJob): boolean {
  return archive.filename !== undefined
}

const propertyMarker = 'SPINNAKER_PROPERTY_'
const configMarker = 'SPINNAKER_CONFIG_JSON='
/** Servers put the time before lines, GitLab also the stream. */
const time = /^\d{4}-\d\d-\d\dT[\d:.]+Z (?:\d\d[OE][ +])?/

/** Names are in lower case; later lines win; objects that are no JSON are left out. */
function readLogProperties(log: string): JsonObject {
  const properties: JsonObject = {}
  for (const raw of log.split('\n')) {
    if (!raw.includes(propertyMarker) && !raw.includes(configMarker)) continue
    const line = stripVTControlCharacters(raw).replace(time, '').trim()
    if (line.startsWith(configMarker))
      Object.assign(properties, parseConfig(line.slice(configMarker.length)))
    else Object.assign(properties, parseProperty(line))
  }
  return properties
}

function parseProperty(line: string): JsonObject {
  const from = line.indexOf(propertyMarker) + propertyMarker.length
  const equals = line.indexOf('=', from)
  if (from < propertyMarker.length || equals < 0) return {}
  const key = line.slice(from, equals).trim().toLowerCase()
  const value = line.slice(equals + 1).trim()
  return key === '' || key === '__proto__' || value === '' ? {} : { [key]: value }
}

function parseConfig(text: string): JsonObject {
  try {
    const config = parseJson(text)
    return isObject(config) ? config : {}
  } catch {
    return {}
  }
}
