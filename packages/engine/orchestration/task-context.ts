/** Context of a step: the present state, calls as the right user, and other executions. */
import { joinUsers, usersOf } from '@fairlead/base/names/acting-users.ts'
import { type ApplicationRight, describeMissing } from '@fairlead/ports/access.ts'
import { bakeryRules } from '@fairlead/ports/bakery.ts'
import { buildRules } from '@fairlead/ports/builds.ts'
import { toCaller } from '@fairlead/ports/caller.ts'
import { canaryRules } from '@fairlead/ports/canaries.ts'
import { definitionRules } from '@fairlead/ports/definitions.ts'
import { infrastructureRules } from '@fairlead/ports/infrastructure.ts'
import type { EngineOptions, EngineParts } from './engine-parts.ts'
import { createExpressionMeter } from './expressions/evaluator.ts'
import { executionScope } from './expressions/scopes.ts'
import { evaluateTree } from './expressions/template.ts'
import { forStage, type StageBinding, toStageError } from './for-stage.ts'
import { actingUsers, identityHeaders } from './identity.ts'
import { RetryableError, StageError } from './machine/failure.ts'
import { graphOf } from './machine/graph.ts'
import { cancelExecution } from './machine/operations.ts'
import { notify, type StagePlace } from './model.ts'
import { revealForStage, revealIn } from './secret-use.ts'
import { checkMayPromote } from './stages/promotion/may-promote.ts'
import type { TaskContext } from './stages/stage-type.ts'
import { prepareChild } from './submission/prepare-pipeline.ts'

interface ContextOptions {
  /** Aborted when what the step waits for is of no interest any more. */
  readonly signal?: AbortSignal
  /** A preview changes nothing, whatever a step tries. */
  readonly isPreview?: boolean
}

export function createTaskContext(
  engine: EngineParts,
  { execution, stage }: StagePlace,
  { signal = new AbortController().signal, isPreview = false }: ContextOptions = {},
): TaskContext {
  const { options } = engine
  const users = actingUsers({ execution, stage })
  let known: Promise<readonly string[]> | undefined
  const actors = () => {
    known ??= actorsAmong(users, options)
    return known
  }
  const headersOf = async () => identityHeaders({ execution, stage }, await actors())
  const answers = engine.answers.at({ execution, stage }, true)
  const place = { execution, stage, now: options.now(), meter: createExpressionMeter(), answers }
  const binding: StageBinding = {
    caller: async () => toCaller(await headersOf()),
    async checkChange(service, method) {
      if (isPreview) throw new Error(`A preview may not call ${method} of ${service}.`)
      if (service === 'clouddriver') await checkPromoters(context)
    },
    reveal: (argument, takesReferences) =>
      revealIn(argument, { place: { execution, stage }, parts: options, takesReferences }),
  }
  const context: TaskContext = {
    ...place,
    signal,
    bakery: forStage(options.ports.bakery, bakeryRules, binding),
    builds: forStage(options.ports.builds, buildRules, binding),
    canaries: forStage(options.ports.canaries, canaryRules, binding),
    definitions: forStage(options.ports.definitions, definitionRules, binding),
    infrastructure: forStage(options.ports.infrastructure, infrastructureRules, binding),
    timeZone: options.timeZone,
    callOutside: options.callOutside,
    read: (key) => graphOf(execution).readKey(stage, key),
    evaluate: (text) =>
      evaluateTree<unknown>(text, { ...place, scope: executionScope(place) }).value,
    require: (authorization, application) =>
      requireRight(engine, users, authorization, application),
    viewOf: (user) => options.ports.rights.viewOf(user).catch(retryLater),
    actors,
    findExecution: (id) => options.store.load(id),
    newestRunOf: (configId, statuses) =>
      options.store.newestStarted(configId, { except: execution.id, statuses }),
    activeRuns: () =>
      options.store
        .active(execution.application)
        .flatMap((id) => (id === execution.id ? [] : (options.store.load(id) ?? []))),
    prepareExecution: async (definition) =>
      prepareChild(definition, execution, await headersOf(), options),
    deployRevision: async (order) => {
      try {
        return await options.apps?.().deployRevision(order, await binding.caller())
      } catch (error) {
        throw toStageError(error, false, { service: 'orca', name: 'the engine' })
      }
    },
    cancelExecution: (id, canceledBy) => cancelOther(engine, { execution, stage }, id, canceledBy),
    reveal: (value) => revealForStage(value, { execution, stage }, options),
  }
  return context
}

/** Users may have steered a promotion since its stage has found what it promotes. */
async function checkPromoters(context: TaskContext): Promise<void> {
  const { execution, stage, actors } = context
  const to = graphOf(execution)
    .upwardsFrom(stage)
    .find(({ engine }) => engine.promotesTo !== undefined)?.engine.promotesTo
  if (to !== undefined && (await actors()).length > 1) await checkMayPromote(context, to)
}

/** Who may use the service account for which a run acts does not count beside it. */
async function actorsAmong(
  users: string,
  { judges, accessOf }: EngineOptions,
): Promise<readonly string[]> {
  const all = usersOf(users)
  if (!judges || all.length === 1) return all
  return (await accessOf(users).catch(retryLater)).each?.map(({ user }) => user) ?? all
}

function retryLater(error: unknown): never {
  throw new RetryableError([(error as Error).message])
}

async function requireRight(
  { options }: EngineParts,
  users: string,
  authorization: ApplicationRight,
  application: string,
): Promise<void> {
  const access = await options.accessOf(users).catch(retryLater)
  if (!access.mayOnApplication(application, authorization)) {
    throw new StageError([describeMissing(access, authorization, application)], {
      status: 403,
      kind: 'PERMISSION',
    })
  }
}

/** What ends a stage ends the run that it has started; users who steered or cancelled its own run need EXECUTE there, too. */
async function cancelOther(
  engine: EngineParts,
  { execution }: StagePlace,
  id: string,
  canceledBy: string,
): Promise<void> {
  const { options } = engine
  const { cancelFor } = execution.engine
  const application = options.store.load(id)?.application
  if (application === undefined) return
  const users = usersOf(actingUsers({ execution }))
  const [, ...others] = await actorsAmong(
    joinUsers(cancelFor === undefined ? users : [...users, cancelFor]),
    options,
  )
  const access = others.length === 0 ? undefined : await options.accessOf(joinUsers(others))
  const isAllowed = access === undefined || access.mayOnApplication(application, 'EXECUTE')
  engine.transact((unit) => {
    const [own, other] = [unit.load(execution.id), unit.load(id)]
    if (isAllowed && other !== undefined)
      cancelExecution(other, { canceledBy, cancelFor }, undefined, unit.turn)
    else if (access !== undefined && own !== undefined)
      notify(
        own,
        `The execution ${id} goes on. ${describeMissing(access, 'EXECUTE', application)}`,
        unit.turn.now,
      )
  })
}
