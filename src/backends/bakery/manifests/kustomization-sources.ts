/** Keeps a kustomization within its repository: Kustomize itself would fetch whatever address it finds. */
import { readFileSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { type JsonObject, textsWithin } from '../../../json/values.ts'
import { BackendError } from '../../backend.ts'
import { inlineConfigurationsOf, kustomizationNames, parseDocuments, pathsOf } from './kustomization-file.ts'
import { isWithin, type WorkFolder } from './work-folder.ts'

/**
 * Git is switched off for Kustomize by its environment; what it would fetch over HTTP is found here.
 *
 * @param sources Folder of the repository below the work folder
 * @param folder Of the kustomization
 * @throws {BackendError} 400 for an address of another machine, and for a path that leads out of the repository
 */
export function checkKustomization(work: WorkFolder, sources: string, folder: string): void {
  new SourceCheck(realpathSync(join(work.path, sources))).checkFolder(realpathSync(join(work.path, folder)), 'content')
}

/**
 * What a file becomes: objects of the manifest, a configuration of Kustomize's parts, or such a configuration after patches, where any
 * text may become an address.
 */
type Purpose = 'content' | 'configuration' | 'patched configuration'

/** Entries of generators are `name=path`, too. */
const address = /^[ \t]*(?:[^=\s]*=)?(?:https?|ssh|git|file)::?\/\/|^[ \t]*git(?:@|::)|[?&]ref=/im
const anyAddress = /https?:\/\//i

class SourceCheck {
  readonly #root: string
  readonly #seen = new Set<string>()

  constructor(root: string) {
    this.#root = root
  }

  checkFolder(folder: string, purpose: Exclude<Purpose, 'configuration'>): void {
    for (const file of kustomizationNames.map((name) => join(folder, name))) {
      if (!this.#isNew(file, purpose)) continue
      for (const document of this.#parse(file)) {
        for (const inline of inlineConfigurationsOf(document))
          this.#checkAll(parseDocuments(inline, this.#nameOf(file)), file, address)
        if (purpose === 'patched configuration') this.#checkAll([document], file, anyAddress)
        for (const { path, kind } of pathsOf(document)) {
          this.#checkAll([path], file, address)
          if (kind !== 'file') this.#checkPlace(join(folder, path), file, kind === 'base' ? purpose : 'configuration')
        }
      }
    }
  }

  #checkPlace(place: string, from: string, purpose: Purpose): void {
    const found = statSync(place, { throwIfNoEntry: false })
    if (!isWithin(found === undefined ? place : realpathSync(place), this.#root)) {
      throw new BackendError(
        400,
        `${this.#nameOf(from)} names ${relative(dirname(from), place)}, which is not in the repository.`,
      )
    }
    if (found?.isDirectory()) {
      this.checkFolder(realpathSync(place), purpose === 'content' ? purpose : 'patched configuration')
    } else if (purpose !== 'content' && found?.isFile() && this.#isNew(place, purpose)) {
      this.#checkAll(this.#parse(place), place, purpose === 'configuration' ? address : anyAddress)
    }
  }

  /** Whether it exists and was not checked in the same way. */
  #isNew(file: string, purpose: Purpose): boolean {
    const key = `${purpose} ${file}`
    if (this.#seen.has(key) || statSync(file, { throwIfNoEntry: false }) === undefined) return false
    this.#seen.add(key)
    return true
  }

  #checkAll(values: readonly unknown[], file: string, pattern: RegExp): void {
    const found = textsWithin(values).find((text) => pattern.test(text))
    if (found === undefined) return
    throw new BackendError(
      400,
      `${this.#nameOf(file)} names ${JSON.stringify(found.trim())}, and kustomizations are built without a network. Put what it needs ` +
        'into the repository.',
    )
  }

  #parse(file: string): JsonObject[] {
    return parseDocuments(readFileSync(file, 'utf8'), this.#nameOf(file))
  }

  #nameOf(file: string): string {
    return relative(this.#root, file)
  }
}
