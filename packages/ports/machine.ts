/** This machine as a place for builds: its accounts, programs that the agent runs, and its images. */
import type { JsonObject } from '@fairlead/base/json/values.ts'
import type { ConsolePart, ConsoleWish } from '@fairlead/base/net/agent-protocol.ts'
import type { FileUser } from '@fairlead/base/storage/directory-trees.ts'
import type { Revealed, SecretUse } from './secrets.ts'

/** A provider of this process, as other capabilities see it. */
export interface ProviderHandle {
  readonly accounts: readonly { readonly name: string; readonly details: JsonObject }[]
  /** Server groups of one application, without regard to case, or all. */
  serverGroups(
    application?: string,
  ): readonly { readonly name: string; readonly buildInfo?: JsonObject }[]
  /** Undefined where it runs no builds. */
  readonly machine?: Machine
}

export interface Machine {
  readonly dataDir: string
  readonly accounts: readonly { readonly name: string }[]
  readonly builders: MachineBuilders
  readonly users: {
    /** Undefined: the agent's own user. */
    of(account: string): FileUser | undefined
    /** Why nothing can be started in the account, a sentence; undefined when it can. */
    problemOf(account: string): string | undefined
  }
  readonly variables: MachineVariables
  readonly images: { all(): readonly MachineImage[] }
  /** @returns the command that runs a file of Fairlead in the sandbox of an account @throws {PortError} where there is no sandbox */
  confineFile(command: readonly [string, ...string[]], places: ProgramPlaces): Promise<string[]>
  /** What builds and runs containers of an account. @throws {PortError} 400 where there is none */
  containerRuntimeOf(account: string): ContainerRuntime
  /** Makes an image of a folder. @throws {PortError} 400, 409, 413 */
  adoptFolder(built: BuiltFolder, description: ImageDescription): Promise<MachineImage>
}

export interface ContainerRuntime {
  /** Path of podman or docker. */
  readonly runtime: string
  /** What it reads; without `HOME`, it looks up that of its user. */
  readonly environment: Readonly<Record<string, string>>
}

export interface MachineBuilders {
  ids(owner: 'bake' | 'build'): string[]
  /** Once for each id. @throws {PortError} 400 */
  start(id: string, order: BuilderOrder): void
  /** Undefined when it does not exist. */
  look(id: string): BuilderState | undefined
  /** A part of at most `maxBytes` of its output; undefined where there is none, or no agent. */
  consolePart(id: string, wish: ConsoleWish, maxBytes: number): Promise<ConsolePart | undefined>
  /** Like `consolePart`, to be kept: undefined only where there is none. @throws {Error} while the agent does not answer */
  logPart(id: string, offset: number, maxBytes: number): Promise<ConsolePart | undefined>
  /** Stops it and removes its folder. */
  remove(id: string): void
}

export interface BuilderOrder {
  readonly account: string
  /** The working directory begins with its content. */
  readonly image?: { readonly id: string; readonly digest: string } | undefined
  /** The same with a folder, which must stay until the builder runs. */
  readonly content?: string
  /** What it belongs to; empty where it is no application's. */
  readonly application?: string
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Secrets in the environment, which is then stored encrypted. */
  readonly revealed?: Omit<Revealed<unknown>, 'value'> | undefined
  readonly timeLimitMs: number
  readonly memoryMb: number
  readonly diskMb: number
  readonly processes?: number
  /** Output that is kept. Default: 10 MiB. */
  readonly consoleBytes?: number
}

export interface BuilderState {
  readonly hasEnded: boolean
  /** Its process runs, or has run: the working directory is there. */
  readonly hasBegun: boolean
  readonly exitCode: number | undefined
  readonly reason: string | undefined
  readonly folder: string
}

type Variables = Readonly<Record<string, string>>

/** Without an application: its authors could set a secret of the same name. */
export type VariablesUse = Pick<SecretUse, 'user' | 'place' | 'run'>

/** What accounts give to their programs. */
export interface MachineVariables {
  /** What Git of Fairlead itself needs for repositories of the account's builds, whose logins it has already. */
  forGit(account: string): { readonly environment: Variables; readonly readOnly: readonly string[] }
  /**
   * All of them. References mean secrets of the account.
   *
   * @throws {PortError} naming the reference and the remedy
   */
  reveal(account: string, use: VariablesUse): Promise<Revealed<Variables>>
  /**
   * The same for a build of a branch that may not be reviewed.
   *
   * @param job JSON data of the branch, which must not get the logins by references of its own
   * @throws {PortError} as `reveal`, and 400 for such a reference
   */
  revealForBranch(account: string, use: VariablesUse, job: unknown): Promise<Revealed<Variables>>
}

export interface ProgramPlaces {
  /** Id of the job that runs it. */
  readonly id: string
  readonly account: string
  readonly cache?: string
  /** Folders that the settings let it read. */
  readonly readable: readonly string[]
  /** Sources, which may be in the data of Fairlead. */
  readonly sources?: readonly string[]
  /** It runs nothing of its authors but containers, which the sandbox does not let it. */
  readonly runsContainers?: boolean
}

export interface BuiltFolder {
  /** Working directory of the builder, which its steps may have filled as they like. */
  readonly work: string
  /** The folder in it. */
  readonly name: string
  /** For messages: `bake`. */
  readonly what: string
}

/** What a user says about an image. */
export interface ImageDescription {
  readonly name: string
  readonly version: string
  /** Facts about its making, such as `commit`, `branch` or `buildInfoUrl`. */
  readonly labels: Readonly<Record<string, string>>
  /** Changeable marks, such as `stage`. */
  readonly tags: Readonly<Record<string, string>>
  /** Who made it of what, such as `{kind: 'upload', user}`. */
  readonly origin: JsonObject
  /** Accounts and regions that have it; undefined: all. An account has one image of a name and version. */
  readonly accounts?: readonly string[]
  readonly regions?: readonly string[]
}

export interface MachineImage extends ImageDescription {
  /** `NAME:VERSION`. */
  readonly id: string
}
