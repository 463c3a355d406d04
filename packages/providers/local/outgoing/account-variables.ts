/** What accounts give to their programs, jobs, bakes and builds for the way out: variables, and the files that these name. */

import { mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { getCACertificates } from 'node:tls'
import { PortError } from '@fairlead/base/port-error.ts'
import { openWayTo } from '@fairlead/base/storage/directory-trees.ts'
import { replaceFile } from '@fairlead/base/storage/private-files.ts'
import { allMaskFormsOf, longestFirst } from '@fairlead/model/secrets/mask-forms.ts'
import { allReferencesIn, replaceReferences } from '@fairlead/model/secrets/secret-references.ts'
import type { MachineVariables, VariablesUse } from '@fairlead/ports/machine.ts'
import type { Revealed, SecretValues } from '@fairlead/ports/secrets.ts'
import type { LocalAccountSettings } from '../settings.ts'
import type { Outgoing } from './settings.ts'
import { type OutgoingFiles, secretsIn, toNpmrc, toVariables, withoutLogins } from './variables.ts'

type Variables = Readonly<Record<string, string>>

interface AccountVariablesOptions {
  readonly accounts: readonly Pick<LocalAccountSettings, 'name' | 'outgoing'>[]
  readonly dataDir: string
  readonly secrets: SecretValues
}

interface Given {
  readonly outgoing: Outgoing
  readonly folder: string | undefined
  readonly files: OutgoingFiles
  /** Variables without a secret of the store. */
  readonly plain: Variables
  /** Secrets in the settings themselves, longest first. */
  readonly masks: readonly string[]
  readonly refers: boolean
}

const networkVariable = /^(?:\w+_PROXY|GIT_SSL_CAINFO)$/i

export class AccountVariables implements MachineVariables {
  readonly #secrets: SecretValues
  readonly #given: ReadonlyMap<string, Given>

  /** Writes the files. @throws as the file system does */
  constructor({ accounts, dataDir, secrets }: AccountVariablesOptions) {
    this.#secrets = secrets
    const root = join(dataDir, 'accounts')
    this.#given = new Map(
      accounts.map(({ name, outgoing }) => [
        name,
        open(outgoing, join(root, encodeURIComponent(name)), dataDir),
      ]),
    )
  }

  /** Variables that refer to no secret of the store, by the present settings. */
  plain(account: string): Variables {
    return this.#given.get(account)?.plain ?? {}
  }

  refers(account: string): boolean {
    return this.#given.get(account)?.refers === true
  }

  /** What no output shows, longest first; values of references come with these. */
  masks(account: string): readonly string[] {
    return this.#given.get(account)?.masks ?? []
  }

  folderOf(account: string): string | undefined {
    return this.#given.get(account)?.folder
  }

  forGit(account: string): {
    readonly environment: Variables
    readonly readOnly: readonly string[]
  } {
    const plain = Object.entries(this.plain(account)).filter(([name]) => networkVariable.test(name))
    const folder = this.folderOf(account)
    return {
      environment: Object.fromEntries(plain),
      readOnly: folder === undefined ? [] : [folder],
    }
  }

  async reveal(account: string, { user, place, run }: VariablesUse): Promise<Revealed<Variables>> {
    const given = this.#given.get(account)
    if (given === undefined) return { value: {}, secrets: [], versions: [] }
    const {
      value: outgoing,
      secrets,
      versions,
    } = await this.#secrets.reveal(given.outgoing, { account, user, place, run })
    const masks = longestFirst([...secrets, ...allMaskFormsOf(secretsIn(outgoing))])
    return { value: toVariables(outgoing, given.files), secrets: masks, versions }
  }

  async revealForBranch(
    account: string,
    use: VariablesUse,
    job: unknown,
  ): Promise<Revealed<Variables>> {
    const given = this.#given.get(account)
    if (given === undefined || given.outgoing.isForAllBranches) return this.reveal(account, use)
    const [login] = allReferencesIn(job).intersection(allReferencesIn(given.outgoing))
    if (login !== undefined) {
      const advice =
        'Use another secret, or let an operator set "logins-for-all-branches" of the account.'
      throw new PortError(
        400,
        `secret:${login} is a login of the account ${account}, which builds of this branch do not get. ${advice}`,
      )
    }
    return {
      value: toVariables(withoutLogins(given.outgoing), given.files),
      secrets: [],
      versions: [],
    }
  }
}

function open(outgoing: Outgoing, folder: string, dataDir: string): Given {
  const files = { bundle: join(folder, 'authorities.pem'), npmrc: join(folder, 'npmrc') }
  const contents = [
    [files.bundle, outgoing.authorities === undefined ? undefined : toBundle(outgoing.authorities)],
    [
      files.npmrc,
      outgoing.registries.some(({ type }) => type === 'npm') ? toNpmrc(outgoing) : undefined,
    ],
  ] as const
  const hasFiles = contents.some(([, content]) => content !== undefined)
  if (!hasFiles) rmSync(folder, { recursive: true, force: true })
  else {
    mkdirSync(folder, { recursive: true, mode: 0o711 })
    openWayTo(folder, dataDir)
    for (const [file, content] of contents) {
      // All users of the machine may read it: it holds no secret.
      if (content !== undefined) replaceFile(file, content, { mode: 0o644, flush: false })
      else rmSync(file, { force: true })
    }
  }
  const references = allReferencesIn(outgoing)
  const all = toVariables(outgoing, files)
  const without = toVariables(
    replaceReferences(outgoing, new Map([...references].map((each) => [each, 'x']))),
    files,
  )
  return {
    outgoing,
    folder: hasFiles ? folder : undefined,
    files,
    plain: Object.fromEntries(
      Object.entries(all).filter(([name, value]) => without[name] === value),
    ),
    masks: allMaskFormsOf(secretsIn(outgoing)),
    refers: references.size > 0,
  }
}

function toBundle(authorities: string): string {
  const ofSystem = getCACertificates('system')
  const others = new Set(ofSystem.length > 0 ? ofSystem : getCACertificates('bundled'))
  return `${[...others, authorities].map((text) => text.trim()).join('\n')}\n`
}
