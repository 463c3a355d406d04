/** The files of the console as `scripts/build-console.ts` writes them. */
import { readFile, stat } from 'node:fs/promises'
import { GatewayError } from '@fairlead/base/errors.ts'
import { rangesOf } from '../http/parse-accept.ts'

/** `manifest.json` of the build. File names contain a hash of their content. */
export interface Manifest {
  /** Runs before the first paint and chooses light or dark. */
  readonly theme: string
  readonly script: string
  readonly style: string
  /** Font of the style. */
  readonly font: string
  readonly preload: readonly string[]
  /** Every file, with its media type and the codings in which it lies beside itself. */
  readonly files: Readonly<
    Record<string, { readonly type: string; readonly codings: readonly Coding[] }>
  >
}

export type Coding = 'br' | 'gzip'

interface BuiltFile {
  readonly bytes: Buffer
  readonly type: string
  readonly coding: Coding | undefined
}

const suffixes: Readonly<Record<Coding, string>> = { br: '.br', gzip: '.gz' }

export class BuiltFiles {
  readonly #dir: URL | undefined
  #manifest: { readonly value: Manifest; readonly changedMs: number } | undefined

  constructor(dir: URL | undefined) {
    this.#dir = dir
  }

  async manifest(): Promise<Manifest> {
    try {
      if (this.#dir === undefined) throw new Error('no folder was given')
      const file = new URL('manifest.json', this.#dir)
      const { mtimeMs: changedMs } = await stat(file)
      if (this.#manifest?.changedMs !== changedMs) {
        this.#manifest = { value: JSON.parse(await readFile(file, 'utf8')) as Manifest, changedMs }
      }
      return this.#manifest.value
    } catch (cause) {
      throw new GatewayError(
        'CONSOLE_MISSING',
        'The web console is not built. Run "npm run build", then reload the page.',
        {
          cause,
        },
      )
    }
  }

  async find(name: string, accepted: string): Promise<BuiltFile | undefined> {
    const { files } = await this.manifest()
    const entry = Object.hasOwn(files, name) ? files[name] : undefined
    if (entry === undefined) return undefined
    const ranges = rangesOf(accepted)
    const coding = entry.codings.find((offered) =>
      ranges.some(({ type, weight }) => type === offered && weight > 0),
    )
    const file = new URL(`files/${name}${coding === undefined ? '' : suffixes[coding]}`, this.#dir)
    try {
      return { bytes: await readFile(file), type: entry.type, coding }
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined
      throw error
    }
  }
}
