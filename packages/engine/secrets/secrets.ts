/** Secrets of applications and accounts: their store, their values for other back ends, and who uses them. */

import { randomBytes } from 'node:crypto'
import { PortError } from '@fairlead/base/port-error.ts'
import { allMaskFormsOf } from '@fairlead/model/secrets/mask-forms.ts'
import {
  allReferencesIn,
  parseReference,
  replaceReferences,
  type SecretReference,
} from '@fairlead/model/secrets/secret-references.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type {
  Revealed,
  SecretHolder,
  SecretRun,
  SecretUse,
  SecretValues,
  SecretVersion,
} from '@fairlead/ports/secrets.ts'
import { decrypt, encrypt, keyIdOf } from './encryption.ts'
import { KeyFile } from './key-file.ts'
import { readSecretFile } from './secret-files.ts'
import { type NewSecret, type SecretEntry, SecretStore, scopeOf } from './secret-store.ts'
import { type RecordedUse, SecretUses } from './secret-uses.ts'
import { VaultSecrets } from './vault-secrets.ts'

/** Bytes. */
const randomLength = 32

interface Resolved {
  readonly value: string
  readonly version: SecretVersion
}

export interface SecretReport {
  readonly entry: SecretEntry
  readonly uses: readonly (RecordedUse & { readonly isRunning: boolean })[]
  readonly holders: readonly SecretHolder[]
}

export function openSecrets(context: BackendContext): Secrets {
  const secrets = new Secrets(context)
  secrets.examine()
  return secrets
}

export class Secrets implements SecretValues {
  readonly #context: BackendContext
  readonly #store: SecretStore
  readonly #uses: SecretUses
  readonly #keys: KeyFile
  readonly #vault: VaultSecrets | undefined

  constructor(context: BackendContext) {
    const { db, now, steady, settings } = context
    const vault = settings.secrets.vault
    this.#context = context
    this.#store = new SecretStore(db, now)
    this.#uses = new SecretUses(db, now)
    this.#keys = new KeyFile(context, this.#store)
    this.#vault = vault && new VaultSecrets(vault, steady)
  }

  examine(): void {
    this.#keys.examine()
  }

  async reveal<T>(value: T, use: SecretUse): Promise<Revealed<T>> {
    const references = allReferencesIn(value)
    if (references.size === 0) return { value, secrets: [], versions: [] }
    const resolved = new Map<string, Resolved>()
    for (const reference of references) resolved.set(reference, await this.#resolve(reference, use))
    const all = [...resolved.values()]
    const versions = all.map(({ version }) => version)
    this.#uses.note(versions, use)
    const values = new Map([...resolved].map(([reference, { value: text }]) => [reference, text]))
    return {
      value: replaceReferences(value, values),
      secrets: allMaskFormsOf(values.values()),
      versions,
    }
  }

  isSet(name: string, of: Pick<SecretUse, 'application' | 'account'>): boolean {
    return ownersOf({ ...of, user: '', place: '' }).some(
      ({ kind, owner }) => this.#store.find(scopeOf(kind, owner), name) !== undefined,
    )
  }

  seal(text: string, place: string): string {
    return encrypt(text, sealedPlace(place), this.#keys.forWriting())
  }

  unseal(sealed: string, place: string): string {
    return decrypt(sealed, sealedPlace(place), this.#keys.all())
  }

  reseal(sealed: string, place: string): string {
    const newest = this.#keys.forWriting()
    return keyIdOf(sealed) === newest.id ? sealed : this.seal(this.unseal(sealed, place), place)
  }

  list(scope: string): { entry: SecretEntry; lastUseMs: number | undefined }[] {
    const lastUses = this.#uses.lastUses(scope)
    return this.#store.list(scope).map((entry) => ({ entry, lastUseMs: lastUses.get(entry.name) }))
  }

  set(scope: string, name: string, secret: NewSecret): SecretEntry {
    return this.#store.set(scope, name, secret, this.#keys.forWriting())
  }

  create(name: string, { application, user }: { application: string; user: string }): void {
    const value = randomBytes(randomLength).toString('base64url')
    this.set(scopeOf('application', application), name, { value, user, note: 'Made by Fairlead.' })
  }

  discard(name: string, { application }: { application: string }): void {
    this.remove(scopeOf('application', application), name)
  }

  remove(scope: string, name: string): boolean {
    return this.#store.remove(scope, name)
  }

  report(scope: string, name: string): SecretReport | undefined {
    const entry = this.#store.find(scope, name)
    if (entry === undefined) return undefined
    const { builds, executions, infrastructure } = this.#context.ports
    const isRunning = ({ service, id }: SecretRun) =>
      (service === 'orca' ? executions : builds).isRunning(id)
    const holders = [...infrastructure.secretHolders(), ...builds.secretHolders()]
    const uses = this.#uses
      .list(scope, name)
      .map((use) => ({ ...use, isRunning: use.runs.some(isRunning) }))
    return {
      entry,
      uses,
      holders: holders.filter((holder) => holder.scope === scope && holder.name === name),
    }
  }

  async #resolve(text: string, use: SecretUse): Promise<Resolved> {
    const reference = parseReference(text)
    if (reference === undefined)
      throw new PortError(400, `"secret:${text}" is no reference to a secret; correct it.`)
    if (reference.kind === 'stored') return this.#resolveStored(reference.name, use)
    if (reference.kind === 'file') {
      const value = await readSecretFile(reference.name, use.application, {
        files: this.#context.settings.secrets.files,
        keyFile: this.#keys.file,
      })
      return { value, version: { scope: 'file', name: reference.name, version: 0 } }
    }
    return this.#resolveVault(reference, use)
  }

  #resolveStored(name: string, use: SecretUse): Resolved {
    const owners = ownersOf(use)
    const entries = owners.map(({ kind, owner }) => this.#store.find(scopeOf(kind, owner), name))
    const entry = entries.find((found) => found !== undefined)
    if (entry === undefined) throw new PortError(400, describeAbsence(name, owners))
    try {
      return { value: this.#store.value(entry, this.#keys.all()), version: entry }
    } catch (error) {
      throw new PortError(400, `secret:${name} cannot be read. ${(error as Error).message}`)
    }
  }

  async #resolveVault(
    { path, key }: SecretReference & { kind: 'vault' },
    { application }: SecretUse,
  ): Promise<Resolved> {
    if (this.#vault === undefined)
      throw new PortError(
        400,
        `secret:vault:${path}#${key} cannot be read: set secrets.vault.address and its login.`,
      )
    const { value, version } = await this.#vault.read(path, key, application)
    return { value, version: { scope: 'vault', name: `${path}#${key}`, version } }
  }
}

/** What is stored elsewhere never passes for a secret of the store. */
function sealedPlace(place: string): string {
  return `sealed\n${place}`
}

interface Owner {
  readonly kind: 'application' | 'account'
  readonly owner: string
}

/** Owners whose secrets a reference may mean, the nearest first. */
function ownersOf(use: SecretUse): Owner[] {
  const kinds = ['application', 'account'] as const
  return kinds.flatMap((kind) => (use[kind] === undefined ? [] : { kind, owner: use[kind] }))
}

function describeAbsence(name: string, owners: readonly Owner[]): string {
  if (owners.length === 0)
    return `secret:${name} cannot be used here: what refers to it belongs to no application.`
  const named = owners.map(({ kind, owner }) => `the ${kind} ${owner}`).join(' or ')
  const kinds = owners.map(({ kind }) => `the ${kind}`).join(' or ')
  return `There is no secret "${name}" of ${named}. Set it for ${kinds}, or correct the reference.`
}
