/** Bakes of manifests: each in a folder of its own, within bounds of time, output and number. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import { ProgramError, runProgram } from '@fairlead/base/outside/run-program.ts'
import { authorFault, PortError } from '@fairlead/base/port-error.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import { helm2Manifests, helm3Manifests } from './helm.ts'
import { helmfileManifests } from './helmfile.ts'
import { kustomizeManifests } from './kustomize.ts'
import type { ManifestBake, ManifestType } from './manifest-type.ts'
import type { ProgramCommand } from './programs.ts'
import { describeArtifact, type ManifestRequest, parseManifestRequest } from './request.ts'
import { defaultManifestBakeSettings, type ManifestBakeSettings } from './settings.ts'
import { WorkFolder } from './work-folder.ts'

const manifestTypes: readonly ManifestType[] = [
  helm2Manifests,
  helm3Manifests,
  helmfileManifests,
  ...kustomizeManifests,
]

const maxFetchedBytes = 256 * 1024 * 1024
/** A manifest becomes part of its execution. */
const maxOutputBytes = 16 * 1024 * 1024
const shownErrorLength = 4000

export class ManifestBakes {
  readonly #context: BackendContext
  readonly #settings: ManifestBakeSettings
  readonly #closing = new AbortController()
  #running = 0

  constructor(context: BackendContext) {
    this.#context = context
    this.#settings = context.settings.bakery?.manifests ?? defaultManifestBakeSettings
  }

  /**
   * Renders a manifest.
   *
   * @param name Type of the manifest, in any case
   * @param as For whom artifacts are fetched
   * @returns the manifest as an artifact
   * @throws {PortError} 400 for a wrong request, a missing program; 500 with the words of a program that failed; 503;
   *   the status of an artifact that cannot be fetched
   * @see docs/contracts/bakery.md#manifests
   */
  async bake(name: string, body: unknown, as: Caller): Promise<JsonObject> {
    const type = findType(name)
    const request = parseManifestRequest(body)
    checkInput(type, request)
    if (this.#running >= this.#settings.maxRunning)
      throw new PortError(
        503,
        `${this.#running} manifests are being baked (bakery.manifests.max-running). Try again later.`,
      )
    this.#running += 1
    try {
      const text = await WorkFolder.use((work) => type.render(request, this.#toolsOf(work, as)))
      const reference = Buffer.from(text, 'utf8').toString('base64')
      return { type: 'embedded/base64', name: request.outputArtifactName ?? null, reference }
    } finally {
      this.#running -= 1
    }
  }

  close(): void {
    this.#closing.abort()
  }

  #toolsOf(work: WorkFolder, as: Caller): ManifestBake {
    let bytes = 0
    const fetch = async (artifact: JsonObject) => {
      const content = await this.#fetch(artifact, as)
      bytes += content.length
      if (bytes <= maxFetchedBytes) return content
      throw new PortError(
        413,
        `The artifacts of a manifest have at most ${maxFetchedBytes} bytes. Leave out what it does not need.`,
      )
    }
    return {
      settings: this.#settings,
      allowsCommands: this.#context.settings.bakery?.allowsCommands === true,
      work,
      fetch,
      async fetchAll(artifacts) {
        const fetched = []
        for (const artifact of artifacts) fetched.push({ artifact, content: await fetch(artifact) })
        return fetched
      },
      run: (command, args) => this.#run(command, args, work),
    }
  }

  #fetch(artifact: JsonObject, as: Caller): Promise<Buffer> {
    return this.#context.ports.infrastructure
      .fetchArtifactBytes(artifact, as)
      .catch((error: Error) => {
        const status = error instanceof PortError ? error.status : 502
        throw new PortError(
          status,
          `The artifact ${describeArtifact(artifact)} cannot be fetched: ${error.message}`,
        )
      })
  }

  async #run(
    { title, path, args: first, readOnly = [] }: ProgramCommand,
    args: readonly string[],
    work: WorkFolder,
  ): Promise<string> {
    const { timeLimitMs } = this.#settings
    const environment = environmentIn(work)
    try {
      const output = await runProgram({
        program: path,
        args: [...first, ...args],
        folder: work.path,
        environment,
        sandbox: this.#context.settings.outside.sandbox,
        network: 'none',
        readOnly,
        timeLimitMs,
        maxOutputBytes,
        signal: this.#closing.signal,
      })
      return output.toString('utf8')
    } catch (error) {
      throw error instanceof ProgramError ? toAnswer(error, title, work) : error
    }
  }
}

/** @throws {PortError} 400 */
function findType(name: string): ManifestType {
  const type = manifestTypes.find((each) => each.name === name.toUpperCase())
  if (type !== undefined) return type
  throw new PortError(
    400,
    `The manifest type "${name}" is none of ${manifestTypes.map((each) => each.name).join(', ')}. ` +
      'Use one of them, or set services.rosco.baseUrl to a Rosco that renders it.',
  )
}

/** @throws {PortError} 400 */
function checkInput({ name, input }: ManifestType, request: ManifestRequest): void {
  const given = request[input]
  if (given !== undefined && (!Array.isArray(given) || given.length > 0)) return
  throw new PortError(400, `A manifest of type ${name} needs "${input}", and the request has none.`)
}

/** Nothing of the user's configuration, and no cluster. */
function environmentIn(work: WorkFolder): Record<string, string> {
  const home = work.makeFolder('home')
  return {
    HOME: home,
    XDG_CONFIG_HOME: `${home}/config`,
    XDG_CACHE_HOME: `${home}/cache`,
    XDG_DATA_HOME: `${home}/data`,
    TMPDIR: work.makeFolder('tmp'),
    KUBECONFIG: '/dev/null',
    // Its words are shown, and what goes before them is of no use.
    GOTRACEBACK: 'none',
  }
}

function toAnswer(
  { fault, message, errors }: ProgramError,
  title: string,
  work: WorkFolder,
): PortError {
  const advice =
    fault === 'timeout' ? ' Raise bakery.manifests.time-limit-seconds if it needs longer.' : ''
  const words = errors.replaceAll(`${work.path}/`, '').slice(-shownErrorLength)
  const text = `${title} ${message}.${advice}${words === '' ? '' : ` ${words}`}`
  if (fault === 'ended') return new PortError(503, text)
  return new PortError(500, text, fault === 'machine' ? {} : { exception: authorFault })
}
