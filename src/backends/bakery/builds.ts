/** Builders of bakes: commands that the infrastructure service runs, also while Fairlead restarts. */
import { fileURLToPath } from 'node:url'
import { fieldOf, numberOf, objectsOf, textOf } from '../../json/values.ts'
import { type BackendContext, BackendError } from '../backend.ts'

/** Of a log that is kept. */
const logBytes = 1024 * 1024

export interface BuildOrder {
  readonly account: string
  /** The working directory begins with its content. */
  readonly image: { readonly id: string; readonly digest: string } | undefined
  readonly environment: Readonly<Record<string, string>>
  readonly timeLimitMs: number
  readonly memoryMb: number
  readonly diskMb: number
}

export interface BuildView {
  readonly phase: string
  readonly exitCode: number | undefined
  readonly reason: string | undefined
  readonly folder: string
}

export class Builds {
  readonly #call: BackendContext['call']

  constructor({ call }: Pick<BackendContext, 'call'>) {
    this.#call = call
  }

  async ids(): Promise<string[]> {
    return objectsOf(await this.#ask('GET', '')).flatMap(({ id }) => textOf(id) ?? [])
  }

  /** @throws {BackendError} 400 */
  async start(id: string, order: BuildOrder): Promise<void> {
    await this.#ask('PUT', `/${id}`, { ...order, command: [process.execPath, builderFile()] })
  }

  /** Undefined when it does not exist. */
  async look(id: string): Promise<BuildView | undefined> {
    const answer = await this.#ask('GET', `/${id}`)
    if (answer === undefined) return undefined
    return {
      phase: String(fieldOf(answer, 'phase')),
      exitCode: numberOf(fieldOf(answer, 'exitCode')),
      reason: textOf(fieldOf(answer, 'reason')),
      folder: String(fieldOf(answer, 'folder')),
    }
  }

  /** The newest part of what it has written until now. */
  async console(id: string): Promise<string> {
    const answer = await this.#ask('GET', `/${id}/console?tailBytes=${logBytes}`).catch(() => undefined)
    return textOf(fieldOf(answer, 'output')) ?? ''
  }

  /** Stops it and removes its folder. */
  async remove(id: string): Promise<void> {
    await this.#ask('DELETE', `/${id}`)
  }

  /** Undefined for a 404. @throws {BackendError} for every other error */
  async #ask(method: string, path: string, body?: unknown): Promise<unknown> {
    const answer = await this.#call('clouddriver', { method, path: `/local/builds${path}`, body })
    if (answer.status === 404) return undefined
    if (answer.status < 300) return answer.body
    throw new BackendError(
      400,
      textOf(fieldOf(answer.body, 'message')) ?? `The infrastructure service answered ${answer.status}.`,
    )
  }
}

export function hasEnded({ phase }: BuildView): boolean {
  return phase === 'ended' || phase === 'failed'
}

function builderFile(): string {
  return fileURLToPath(new URL(import.meta.url.endsWith('.ts') ? './builder.ts' : './builder.js', import.meta.url))
}
