/** Parts of a pipeline that do not work with this configuration, in sentences that say what to do. */

import { list, shape } from '@fairlead/base/json/shape.ts'
import { isTrue, type JsonObject, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { foldName } from '@fairlead/base/names/fold-name.ts'
import type { Definitions } from '@fairlead/engine/definitions/collections.ts'
import { refusalOf } from '@fairlead/engine/definitions/requests.ts'
import { checkStages } from '@fairlead/engine/definitions/runnable-stages.ts'
import { checkTriggers } from '@fairlead/engine/definitions/usable-triggers.ts'
import { notificationTypeOf } from '@fairlead/engine/notifications/types/all.ts'
import { typesRunElsewhere } from '@fairlead/engine/orchestration/stages/unknown-types.ts'
import { templateOf } from '@fairlead/model/pipeline-templates/references.ts'
import { mask } from '@fairlead/model/secrets/secret-names.ts'
import type { Config } from '../config/config.ts'

export interface MoveSurroundings {
  /** Undefined where another service knows them. */
  readonly accounts: readonly JsonObject[] | undefined
  readonly buildServers: ReadonlySet<string> | undefined
  readonly channels: ReadonlySet<string> | undefined
}

const account = { account: textOf, credentials: textOf }
const toNames = list(shape({ name: textOf }))
const toProvider = shape({ accounts: objectsOf })
const toStage = shape({
  ...account,
  cluster: shape(account),
  source: shape(account),
  clusters: list(shape(account)),
})
const toNotified = shape({ notifications: list(shape({ type: textOf })) })
const isOn = (enabled: unknown) => isTrue(enabled ?? true)
const toTriggers = list(shape({ enabled: isOn, type: String, master: textOf, runAsUser: textOf }))
type MovedTrigger = ReturnType<typeof toTriggers>[number]

export function toSurroundings({ backends, upstreams }: Config): MoveSurroundings {
  const { clouddriver, igor, echo } = upstreams.services
  const providers = Object.values(backends.infrastructure?.providers ?? {})
  const accounts = providers.flatMap((provider) => toProvider(provider).accounts)
  const servers = Object.entries(backends.buildServers)
  const buildServers = servers.flatMap(([id, settings]) =>
    Array.isArray(settings) ? namesOf(settings) : [id],
  )
  const channels = Object.keys(backends.notifications.types).map((id) => id.toLowerCase())
  return {
    accounts: clouddriver.kind === 'embedded' ? accounts : undefined,
    buildServers: igor.kind === 'embedded' ? new Set(buildServers) : undefined,
    channels: echo.kind === 'embedded' ? new Set(channels) : undefined,
  }
}

function namesOf(listed: unknown): string[] {
  return toNames(listed).flatMap(({ name }) => name ?? [])
}

/** @param pipeline Already stored, as well as templates and service accounts. */
export function findMisfits(
  definitions: Definitions,
  pipeline: JsonObject,
  surroundings: MoveSurroundings,
): string[] {
  // A disabled pipeline is judged as if it were to run.
  const judged = { ...pipeline, disabled: false }
  const stages = objectsOf(pipeline['stages'])
  const { executions } = definitions.context.ports
  const elsewhere = executions.runsOtherStages
    ? []
    : typesRunElsewhere(stages, definitions.stageTypes)
  const template = templateOf(pipeline)
  const isTemplateMissing =
    template !== undefined &&
    !/[${:]\/?/.test(template) &&
    !definitions.templates.has(foldName(template))
  return [
    refusalOf(() => checkStages(definitions, judged)),
    elsewhere.length === 0
      ? undefined
      : `The embedded engine does not run stages of the type ${elsewhere.join(', ')}: replace them, or set services.orca.baseUrl.`,
    isTemplateMissing
      ? `The template "${template}" does not exist here: move it first.`
      : undefined,
    ...missingAccounts(stages, surroundings),
    refusalOf(() => checkTriggers(definitions, judged)),
    ...toTriggers(pipeline['triggers']).flatMap((trigger) =>
      triggerMisfits(definitions, trigger, surroundings),
    ),
    ...missingChannels([pipeline, ...stages], surroundings),
    JSON.stringify(pipeline).includes(`"${mask}"`)
      ? 'Secrets of its triggers were not shown to this command: enter them again, or move with a file.'
      : undefined,
  ].filter((sentence) => sentence !== undefined)
}

function missingAccounts(stages: readonly JsonObject[], { accounts }: MoveSurroundings): string[] {
  if (accounts === undefined) return []
  const used = new Set(stages.flatMap((stage) => accountsIn(stage)))
  const known = namesOf(accounts)
  const missing = [...used].filter((name) => !known.includes(name) && !name.includes('${'))
  if (missing.length === 0) return []
  return [
    `Accounts that do not exist here: ${missing.join(', ')}. Configure them under these names, or change the stages.`,
  ]
}

function accountsIn(stage: JsonObject): string[] {
  const { cluster, source, clusters, ...own } = toStage(stage)
  const names = [own, cluster, source, ...clusters].flatMap(({ account, credentials }) => [
    account,
    credentials,
  ])
  return names.filter((name) => name !== undefined)
}

function triggerMisfits(
  definitions: Definitions,
  { enabled, type, master: server, runAsUser: user }: MovedTrigger,
  { buildServers }: MoveSurroundings,
): string[] {
  if (!enabled) return []
  const sentences: string[] = []
  if (server !== undefined && buildServers !== undefined && !buildServers.has(server))
    sentences.push(
      `Its trigger of the type ${type} cannot fire: the build server "${server}" is not configured. Connect it, or disable the trigger.`,
    )
  if (user !== undefined && !definitions.serviceAccounts.has(foldName(user)))
    sentences.push(
      `The service account "${user}" of a trigger does not exist here: add it to service-accounts.`,
    )
  return sentences
}

/** Channels of notifications of the pipeline and of its stages. */
function missingChannels(places: readonly JsonObject[], { channels }: MoveSurroundings): string[] {
  if (channels === undefined) return []
  const types = places
    .flatMap((place) => toNotified(place).notifications)
    .flatMap(({ type }) => type ?? [])
  return [...new Set(types)]
    .filter((type) => !channels.has(type.toLowerCase()))
    .map((type) =>
      notificationTypeOf(type) === undefined
        ? `Notifications by ${type} are unknown here: choose another channel.`
        : `Notifications by ${type} are not configured: set the channel up as in docs/guides/notifications.md.`,
    )
}
