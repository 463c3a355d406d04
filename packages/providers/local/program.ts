/** Programs of a server group: the image's description with the overrides of a deployment. */

import { definedOf, type JsonObject } from '@fairlead/base/json/values.ts'
import type { ProgramLimits } from '@fairlead/base/net/agent-protocol.ts'
import {
  looksSecret,
  mask,
  withoutPasswords,
  withoutSecrets,
} from '@fairlead/model/secrets/secret-names.ts'
import { isReference } from '@fairlead/model/secrets/secret-references.ts'
import type { ImageFile } from '@fairlead/ports/image-file.ts'
import type { SecretVersion } from '@fairlead/ports/secrets.ts'
import type { LocalInstanceType } from './settings.ts'

export interface GroupProgram {
  readonly command: readonly string[]
  readonly environment: Readonly<Record<string, string>>
  /** Names of variables whose values no answer shows. */
  readonly secrets: readonly string[]
  readonly ready: ImageFile['ready']
  readonly limits: ImageFile['limits']
  readonly stopMs: number
  readonly volumes?: ImageFile['volumes']
  /** Undefined: the command is the program. */
  readonly container?: GroupContainer
  readonly overrides: ProgramOverrides
}

export interface GroupContainer {
  /** Reference as given. */
  readonly image: string
  /** The same by its digest; an image that no registry has by its id. */
  readonly reference: string
  /** Port on which its program listens; undefined: the network of the machine is its own. */
  readonly port: number | undefined
  /** Set for a job, in which no program listens. */
  readonly network?: 'own'
  /** Where the files of the stored image are. */
  readonly files?: string
}

export interface InstanceProgram extends GroupProgram {
  readonly digest: string
  readonly instanceType: string
  /** Name of the server group that started it, for its environment. */
  readonly startedFor: string
}

/** What a process was given: it keeps that until it is started anew. */
export interface SealedSecrets {
  /** Values of variables, and what masks them, encrypted with the key of the secrets. */
  readonly text: string
  readonly versions: readonly SecretVersion[]
}

/** What a deployment may say beyond the image; undefined: as the image or the source has it. */
export interface ProgramOverrides {
  readonly command?: readonly string[]
  readonly environment?: Readonly<Record<string, string>> | undefined
  readonly secrets?: Readonly<Record<string, string>> | undefined
  readonly ready?: ImageFile['ready']
  readonly limits?: ImageFile['limits']
  readonly stopSeconds?: number
  readonly volumes?: ImageFile['volumes']
}

/** An image, and the container that it is, if it is one. */
export type ProgramImage = ImageFile & { readonly resolved?: GroupContainer }

/** @param source Program of the server group that a clone starts from; what that overrides is kept unless overridden again. */
export function toProgram(
  image: ProgramImage,
  given: ProgramOverrides,
  source?: GroupProgram,
): GroupProgram {
  const overrides: ProgramOverrides = { ...source?.overrides, ...withoutMasks(given, source) }
  const secrets = overrides.secrets ?? {}
  const environment = { ...image.environment, ...overrides.environment, ...secrets }
  return {
    command: overrides.command ?? image.command ?? [],
    environment,
    secrets: [
      ...new Set([...Object.keys(secrets), ...Object.keys(environment).filter(looksSecret)]),
    ].filter((name) => !isReference(environment[name] ?? '')),
    ready: overrides.ready ?? image.ready,
    limits: { ...image.limits, ...overrides.limits },
    stopMs: Math.round((overrides.stopSeconds ?? image.stopSeconds) * 1000),
    ...definedOf({ volumes: overrides.volumes ?? image.volumes, container: image.resolved }),
    overrides,
  }
}

/** A client that has read a masked value sends it back: the former value stays. Fields that are not given are left out. */
function withoutMasks(given: ProgramOverrides, source: GroupProgram | undefined): ProgramOverrides {
  const shown = source && shownEnvironment(source)
  const unmask = (values: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(values)
        .map(
          ([name, value]) =>
            [
              name,
              value === mask || value === shown?.[name] ? source?.environment[name] : value,
            ] as const,
        )
        .filter((entry): entry is [string, string] => entry[1] !== undefined),
    )
  const isShownCommand =
    source !== undefined && given.command?.join('\0') === shownCommand(source).join('\0')
  const present = definedOf(given)
  return {
    ...present,
    ...(isShownCommand && { command: source.command }),
    ...(present.environment !== undefined && { environment: unmask(present.environment) }),
    ...(present.secrets !== undefined && { secrets: unmask(present.secrets) }),
  }
}

/** The environment with secrets, their copies and passwords in addresses masked. */
function shownEnvironment(program: GroupProgram): Record<string, string> {
  const hidden = new Set(program.secrets)
  const show = createMasking(program)
  return Object.fromEntries(
    Object.entries(program.environment).map(([name, value]) => [
      name,
      hidden.has(name) ? mask : show(value),
    ]),
  )
}

function shownCommand(program: GroupProgram): string[] {
  return program.command.map(createMasking(program))
}

/** A shorter secret stands in too many other texts. */
const minCopyLength = 4

function createMasking({ environment, secrets }: GroupProgram): (text: string) => string {
  const values = secrets
    .map((name) => environment[name] ?? '')
    .filter((value) => value.length >= minCopyLength)
  values.sort((one, other) => other.length - one.length)
  return (text) => withoutPasswords(withoutSecrets(text, values))
}

export function toProgramView(program: GroupProgram): JsonObject {
  return {
    command: shownCommand(program),
    environment: shownEnvironment(program),
    ready: program.ready,
    limits: program.limits,
    stopSeconds: program.stopMs / 1000,
    ...definedOf({ container: program.container }),
  }
}

const megabyte = 1024 ** 2

/** The smaller ones of the image's limits and those of the instance type. */
export function toLimits({ limits }: GroupProgram, type: LocalInstanceType): ProgramLimits {
  const bytes = (megabytes: number | undefined) =>
    megabytes === undefined ? undefined : megabytes * megabyte
  return {
    memoryBytes: smaller(bytes(limits.memoryMb), type.memoryBytes),
    processes: smaller(limits.processes, type.processes),
    openFiles: smaller(limits.openFiles, type.openFiles),
    diskBytes: smaller(bytes(limits.diskMb), type.diskBytes),
    consoleBytes: type.consoleBytes,
  }
}

function smaller(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return Math.min(one, other)
}
