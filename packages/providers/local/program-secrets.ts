/** Secrets in environments of programs: references in the desired state, encrypted values with each instance and job. */

import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { shape } from '@fairlead/base/json/shape.ts'
import { objectOf, textsOf } from '@fairlead/base/json/values.ts'
import { longestFirst } from '@fairlead/model/secrets/mask-forms.ts'
import { withoutSecrets } from '@fairlead/model/secrets/secret-names.ts'
import { referencesIn } from '@fairlead/model/secrets/secret-references.ts'
import type { BackendContext } from '@fairlead/ports/backend.ts'
import type {
  Revealed,
  SecretHolder,
  SecretUse,
  SecretValues,
  SecretVersion,
} from '@fairlead/ports/secrets.ts'
import type { FastifyBaseLogger } from 'fastify'
import type { OperationRun } from '../infrastructure/operation-type.ts'
import type { Desired, LocalInstance, LocalJob } from './desired.ts'
import type { AccountVariables } from './outgoing/account-variables.ts'
import type { GroupProgram, SealedSecrets } from './program.ts'

type ProgramSecretOwner = Pick<LocalInstance | LocalJob, 'id' | 'account'> & {
  readonly program: GroupProgram
  readonly sealed?: SealedSecrets
  readonly isBuild?: boolean
}

interface OpenedSecrets {
  readonly environment: Readonly<Record<string, string>>
  readonly masks: readonly string[]
}

const toOpened = shape({ environment: objectOf, masks: textsOf })

const nothing: OpenedSecrets = { environment: {}, masks: [] }

/** Variables of a deployment that refer to secrets. The environment of an image refers to nothing: its author may be a stranger. */
function referringVariables({ overrides, environment }: GroupProgram): Record<string, string> {
  const given = { ...overrides.environment, ...overrides.secrets }
  return Object.fromEntries(
    Object.entries(given).filter(
      ([name, value]) => environment[name] === value && referencesIn(value).length > 0,
    ),
  )
}

/** Whether a deployment in the account has secrets, its own or those of the account's variables. */
export function needsSecrets(
  program: GroupProgram,
  account: string,
  variables: AccountVariables,
): boolean {
  return variables.refers(account) || Object.keys(referringVariables(program)).length > 0
}

interface SealParts {
  readonly secrets: SecretValues
  readonly variables: AccountVariables
  readonly run: Pick<OperationRun, 'releaseWhile'>
}

/** Undefined where nothing refers to a secret. @throws {PortError} naming the reference and the remedy */
export async function sealSecrets(
  program: GroupProgram,
  use: SecretUse & { readonly account: string },
  { secrets, variables, run }: SealParts,
): Promise<SealedSecrets | undefined> {
  const { account } = use
  if (!needsSecrets(program, account, variables)) return undefined
  const [own, ofAccount] = await run.releaseWhile(() =>
    Promise.all([secrets.reveal(referringVariables(program), use), variables.reveal(account, use)]),
  )
  const plain = variables.plain(account)
  const given = Object.entries(ofAccount.value).filter(
    ([name]) => !Object.hasOwn(plain, name) && !(name in program.environment),
  )
  const environment = { ...Object.fromEntries(given), ...own.value }
  const masks = longestFirst([...own.secrets, ...ofAccount.secrets])
  const text = secrets.seal(formatJson({ environment, masks }), placeOf(use))
  return { text, versions: [...own.versions, ...ofAccount.versions] }
}

/** A whole environment that holds values already; undefined where none is secret. */
export function sealEnvironment(
  environment: Readonly<Record<string, string>>,
  { secrets: masks, versions }: Omit<Revealed<unknown>, 'value'>,
  { account, secrets }: { readonly account: string; readonly secrets: SecretValues },
): SealedSecrets | undefined {
  if (versions.length === 0 && masks.length === 0) return undefined
  return { text: secrets.seal(formatJson({ environment, masks }), placeOf({ account })), versions }
}

/** Neither accounts nor anything else can be exchanged in the database. */
function placeOf({ account }: { readonly account: string }): string {
  return `local ${account}`
}

export class ProgramSecrets {
  readonly #secrets: SecretValues
  readonly #log: FastifyBaseLogger
  readonly #variables: AccountVariables
  readonly #opened = new WeakMap<SealedSecrets, OpenedSecrets>()

  constructor({ ports, log }: Pick<BackendContext, 'ports' | 'log'>, variables: AccountVariables) {
    this.#secrets = ports.secrets
    this.#log = log
    this.#variables = variables
  }

  /** The environment of a process. Variables whose values are lost are left out: a reference is no value. */
  environmentOf(owner: ProgramSecretOwner): Record<string, string> {
    const { program, account, isBuild } = owner
    const referring = referringVariables(program)
    const plain = Object.entries(program.environment).filter(
      ([name]) => !Object.hasOwn(referring, name),
    )
    // The plan of a build has them for its steps.
    const ofAccount = isBuild === true ? {} : this.#variables.plain(account)
    return { ...ofAccount, ...Object.fromEntries(plain), ...this.#open(owner).environment }
  }

  mask(text: string, owner: ProgramSecretOwner): string {
    return withoutSecrets(text, this.masksOf(owner))
  }

  masksOf(owner: ProgramSecretOwner): readonly string[] {
    return longestFirst([...this.#open(owner).masks, ...this.#variables.masks(owner.account)])
  }

  /** Encrypts with the newest key what an older one did. Within a change. */
  reseal(desired: Desired): void {
    for (const kind of ['instances', 'jobs'] as const) {
      for (const owner of [...desired.all(kind)]) {
        if (owner.sealed === undefined) continue
        const text = this.#resealed(owner, owner.sealed)
        if (text !== owner.sealed.text)
          desired.put(kind, { ...owner, sealed: { ...owner.sealed, text } } as LocalInstance &
            LocalJob)
      }
    }
  }

  #resealed(owner: ProgramSecretOwner, { text }: SealedSecrets): string {
    try {
      return this.#secrets.reseal(text, placeOf(owner))
    } catch {
      return text
    }
  }

  #open(owner: ProgramSecretOwner): OpenedSecrets {
    const { sealed } = owner
    return sealed === undefined
      ? nothing
      : this.#opened.getOrInsertComputed(sealed, () => this.#unseal(owner, sealed))
  }

  #unseal(owner: ProgramSecretOwner, { text, versions }: SealedSecrets): OpenedSecrets {
    try {
      return toOpened(parseJson(this.#secrets.unseal(text, placeOf(owner)))) as OpenedSecrets
    } catch (error) {
      const { message: problem } = error as Error
      const names = versions.map(({ name }) => name)
      this.#log.error(
        { instance: owner.id, secrets: names, problem },
        'a program misses its secrets when it starts again',
      )
      return nothing
    }
  }
}

export function secretHoldersOf(desired: Desired): SecretHolder[] {
  const holders = new Map<string, SecretHolder>()
  const add = (versions: readonly SecretVersion[] | undefined, place: string) => {
    for (const { scope, name, version } of versions ?? []) {
      const key = JSON.stringify([scope, name, version, place])
      holders.set(key, { scope, name, version, place, count: (holders.get(key)?.count ?? 0) + 1 })
    }
  }
  for (const { account, region, group, id, sealed } of desired.all('instances'))
    add(
      sealed?.versions,
      `${group === undefined ? `instance ${id}` : `server group ${group}`} in ${account}/${region}`,
    )
  for (const { account, region, name, end, sealed } of desired.all('jobs'))
    if (end === undefined) add(sealed?.versions, `job ${name} in ${account}/${region}`)
  return [...holders.values()]
}
