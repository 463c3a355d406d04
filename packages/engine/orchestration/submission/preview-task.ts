/** Preview of an ad-hoc task: refusals, effects, and what only the run can tell. */
import { list, shape } from '@fairlead/base/json/shape.ts'
import { isObject, type JsonObject, textOf, textsOf } from '@fairlead/base/json/values.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import type { Caller } from '@fairlead/ports/caller.ts'
import type { EngineParts } from '../engine-parts.ts'
import { evaluateStageContext } from '../expressions/stage-evaluation.ts'
import { failureStatus, RetryableError, StageError } from '../machine/failure.ts'
import { graphOf } from '../machine/graph.ts'
import { injectAfterStages, layOutStage } from '../machine/planning.ts'
import { mergeResult } from '../machine/run-task.ts'
import { createTurn, isSpent, type Turn } from '../machine/turn.ts'
import type { Execution, Stage } from '../model.ts'
import { fieldProblemsOf } from '../stages/described-fields.ts'
import { firstText, placesOf, stageAccountOf } from '../stages/infrastructure/cloud-context.ts'
import { preview } from '../stages/infrastructure/cloud-task.ts'
import {
  type CallStep,
  type Step,
  type Submission,
  stageTypeOf,
  type TaskContext,
  typeNameOf,
} from '../stages/stage-type.ts'
import { describeMissingType } from '../stages/unknown-types.ts'
import { createTaskContext } from '../task-context.ts'
import { prepareTask } from './prepare-task.ts'

/** Stages that are looked into; each may take several calls. */
const mostStages = 100

interface Finding {
  /** Position of the job in the task, from 0; absent where it concerns the task as a whole. */
  readonly job?: number
  /** Name of the stage, which may be one that the job adds. */
  readonly stage?: string
  /** Path of a field of the job. */
  readonly field?: string
  readonly message: string
}

interface Effect {
  readonly job: number
  readonly stage: string
  readonly type: string
  /** In words, where it is not an operation of the infrastructure. */
  readonly message?: string
  readonly operation?: string
  readonly account?: string
  readonly region?: string
  /** Names of what the operation is about. */
  readonly objects?: readonly string[]
  /** Instances afterwards, of a server group that is created or resized. */
  readonly capacity?: JsonObject
}

/** `refused`: the task would fail as things are now; `depends`: a part of it is known only once it runs. */
interface TaskPreview {
  readonly decision: 'accepted' | 'refused' | 'depends'
  readonly objections: readonly Finding[]
  readonly open: readonly Finding[]
  readonly effects: readonly Effect[]
}

/**
 * Previews a task by the things of this moment. Nothing is stored, and no other service is changed.
 *
 * @throws {PortError} 403 and 503 as a submission; what it refuses with 400 is an objection
 */
export async function previewTask(
  body: unknown,
  caller: Caller,
  engine: EngineParts,
): Promise<TaskPreview> {
  try {
    return await new Preview(engine, await prepareTask(body, caller, engine.options)).run()
  } catch (error) {
    if (!(error instanceof PortError) || error.status !== 400) throw error
    return conclude({ objections: [{ message: error.message }], open: [], effects: [] })
  }
}

function conclude(found: Omit<TaskPreview, 'decision'>): TaskPreview {
  const decision =
    found.objections.length > 0 ? 'refused' : found.open.length > 0 ? 'depends' : 'accepted'
  return { decision, ...found }
}

/** Ends the preview: what follows depends on what is not known. */
class Unknowable extends Error {}

class Preview {
  readonly #engine: EngineParts
  /** Never stored: stages are laid out in it as in a run. */
  readonly #task: Execution
  readonly #turn: Turn
  readonly #objections: Finding[] = []
  readonly #open: Finding[] = []
  readonly #effects: Effect[] = []
  #stages = 0
  /** Something ahead changes the things on which the rest depends. */
  #isChanged = false

  constructor(engine: EngineParts, task: Execution) {
    this.#engine = engine
    this.#task = task
    this.#turn = createTurn(engine.options, engine.answers)
  }

  /** It ends there: nothing that follows would run. */
  get #isRefused(): boolean {
    return this.#objections.length > 0
  }

  async run(): Promise<TaskPreview> {
    const jobs = [...this.#task.stages]
    for (const [job, stage] of jobs.entries()) this.#checkFields(stage, job)
    try {
      for (const [job, stage] of jobs.entries()) await this.#previewStage(stage, job)
    } catch (error) {
      if (!(error instanceof Unknowable)) throw error
    }
    return conclude({ objections: this.#objections, open: this.#open, effects: this.#effects })
  }

  #checkFields(stage: Stage, job: number): void {
    const types = this.#turn.stageTypes
    const type = typeNameOf(stage)
    const place = { job, stage: stage.name }
    if (stageTypeOf(types, stage) === undefined && !type.includes('${'))
      this.#objections.push({ ...place, message: describeMissingType(type, types) })
    for (const { field, message } of fieldProblemsOf(
      { ...stage.context, type: stage.type },
      types,
      'plan',
    ))
      this.#objections.push({ ...place, field, message })
  }

  async #previewStage(stage: Stage, job: number): Promise<void> {
    if (this.#isRefused) return
    if (++this.#stages > mostStages || isSpent(this.#turn))
      throw this.#unknowable(stage, job, 'The rest of the task is too large to be judged at once.')
    const run = { execution: this.#task, stage, turn: this.#turn }
    const type = stageTypeOf(this.#turn.stageTypes, stage)
    const graph = graphOf(this.#task)
    try {
      layOutStage(run, type)
      for (const before of [...graph.childrenOf(stage, 'STAGE_BEFORE')])
        await this.#previewStage(before, job)
      if (this.#isRefused) return
      const steps = stage.tasks.flatMap(
        ({ name }) => type?.steps.find((step) => step.name === name) ?? [],
      )
      const previewed = steps.filter(isPreviewed)
      const submits = await this.#previewSteps(previewed, stage, job)
      if (!submits && steps.some((step) => !isReading(step))) this.#noteDescription(stage, job)
      if (previewed.length > 0 || steps.length === 0) injectAfterStages(run, type)
      for (const after of [...graph.childrenOf(stage, 'STAGE_AFTER')])
        await this.#previewStage(after, job)
    } catch (error) {
      if (!(error instanceof StageError)) throw error
      this.#noteFailure(error, stage, job)
    }
  }

  /** @returns whether one of them submits operations, be it none at this moment */
  async #previewSteps(steps: readonly CallStep[], stage: Stage, job: number): Promise<boolean> {
    let submits = false
    for (const step of steps) {
      const context = createTaskContext(
        this.#engine,
        { execution: this.#task, stage },
        { isPreview: true },
      )
      if (step.preview !== undefined) {
        const submission = await step.preview(context)
        if (submission === undefined) continue
        submits = true
        mergeResult(stage, { context: submission.context })
        await this.#previewOperations(submission, context, job)
      } else {
        const result = await step.execute(context)
        mergeResult(stage, result)
        const { notice } = toNotice(result.context)
        if (notice !== undefined)
          this.#effects.push({ job, stage: stage.name, type: stage.type, message: notice })
        if (result.status === 'RUNNING')
          throw this.#unknowable(
            stage,
            job,
            'The stage would wait: what it looks for is not there now.',
          )
      }
      evaluateStageContext({ execution: this.#task, stage, turn: this.#turn })
    }
    return submits
  }

  /** The embedded infrastructure service says what it would refuse; another one checks when the operations arrive. */
  async #previewOperations(
    { operations }: Submission,
    context: TaskContext,
    job: number,
  ): Promise<void> {
    if (operations.length === 0) return
    const { stage } = context
    const errors = await preview(context, operations)
    if (errors === undefined)
      this.#noteOpen(stage, job, 'clouddriver checks the operation once it arrives.')
    else if (errors.length > 0) throw new StageError(errors)
    for (const operation of operations) {
      for (const [name, description] of Object.entries(operation))
        this.#effects.push({
          job,
          stage: stage.name,
          type: stage.type,
          ...toEffect(name, description),
        })
    }
    this.#isChanged = true
  }

  /** It does something that the preview does not look into. */
  #noteDescription(stage: Stage, job: number): void {
    const description = stageTypeOf(this.#turn.stageTypes, stage)?.description
    const message = description?.description ?? `Runs a stage of the type ${stage.type}.`
    this.#effects.push({ job, stage: stage.name, type: stage.type, message })
    this.#isChanged = true
  }

  #noteFailure(error: StageError, stage: Stage, job: number): void {
    const text = error.errors.join(' ')
    if (error instanceof RetryableError)
      throw this.#unknowable(stage, job, `It cannot be judged now. ${text}`)
    if (this.#isChanged) {
      const why = 'Known only once it runs, because what runs before it has an effect on it.'
      this.#noteOpen(stage, job, `${why} As things are now: ${text}`)
    } else if (failureStatus(stage) !== 'TERMINAL') {
      this.#noteOpen(stage, job, `The stage would fail, and the task would go on. ${text}`)
    } else {
      for (const message of error.errors) this.#objections.push({ job, stage: stage.name, message })
    }
  }

  #noteOpen(stage: Stage, job: number, message: string): void {
    this.#open.push({ job, stage: stage.name, message })
  }

  #unknowable(stage: Stage, job: number, message: string): Unknowable {
    this.#noteOpen(stage, job, message)
    return new Unknowable(message)
  }
}

function isPreviewed(step: Step): step is CallStep {
  return 'execute' in step && (step.preview !== undefined || step.readsOnly === true)
}

function isReading(step: Step): boolean {
  return 'execute' in step && step.readsOnly === true
}

const objectKeys =
  'serverGroupName asgName loadBalancerName securityGroupName jobName imageName manifestName name'.split(
    ' ',
  )

const toObjects = shape({
  instanceIds: textsOf,
  manifests: list(shape({ kind: textOf, metadata: shape({ name: textOf }) })),
  capacity: (value) => (isObject(value) ? value : undefined),
})

const toNotice = shape({ notice: textOf })

function toEffect(
  operation: string,
  description: JsonObject,
): Omit<Effect, 'job' | 'stage' | 'type'> {
  const { instanceIds, manifests, capacity } = toObjects(description)
  const several = [
    ...instanceIds,
    ...manifests.map(({ kind, metadata }) => `${kind ?? ''} ${metadata.name ?? ''}`),
  ]
  const name = firstText(description, ...objectKeys)
  const objects = several.length > 0 ? several : name === undefined ? [] : [name]
  return {
    operation,
    account: stageAccountOf(description),
    region: placesOf(description)[0],
    ...(objects.length > 0 && { objects }),
    ...(capacity && { capacity }),
  }
}
