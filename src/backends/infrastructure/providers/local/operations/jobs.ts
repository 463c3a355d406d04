/** runJob and destroyJob: commands that run once. */
import { z } from 'zod'
import { type JsonObject, objectOf, textOf } from '../../../../../json/values.ts'
import { describeNameProblem } from '../../../../../names/moniker.ts'
import { describeRefusal } from '../../../../../settings/standalone.ts'
import { Command, ImageFile, ProgramLimitsFile } from '../../../../images/image-file.ts'
import type { OperationTypes } from '../../../operation-type.ts'
import type { LocalJob } from '../desired.ts'
import { hasImage } from '../local-images.ts'
import { toProgram } from '../program.ts'
import { defaultInstanceType } from './create.ts'
import {
  commitChange,
  defineOperation,
  environment,
  numeric,
  type OperationParts,
  optionalTextPart,
  placeOf,
  seconds,
  textMap,
} from './parts.ts'

const command = z
  .union([Command, z.string().trim().min(1)])
  .nullish()
  .transform((value) => (typeof value === 'string' ? ['sh', '-c', value] : (value ?? undefined)))
  .pipe(Command.optional())

const JobFields = z.looseObject({
  application: optionalTextPart,
  name: optionalTextPart,
  imageId: optionalTextPart,
  image: z.unknown().optional(),
  command,
  cmd: command,
  env: environment,
  environment,
  secrets: environment,
  labels: textMap,
  instanceType: optionalTextPart,
  limits: ProgramLimitsFile.nullish(),
  runtimeLimitSecs: numeric(z.number().min(1)).nullish(),
  stopSeconds: seconds.nullish(),
})
type JobFields = z.output<typeof JobFields>

export function localJobOperations(parts: OperationParts): OperationTypes {
  const { desired, settings, images, users, context, newId } = parts

  const imageOf = ({ imageId, image }: JobFields, account: string) => {
    const id = imageId ?? textOf(image) ?? textOf(objectOf(image)['imageId'])
    return { id, image: id === undefined ? undefined : images.get(id, account) }
  }

  const runJob = defineOperation({
    fields: JobFields,
    resources: ({ application }: JsonObject) => [application],
    check: (fields, description) => {
      const { account, region } = placeOf(description, settings)
      const { id, image } = imageOf(fields, account.name)
      const problem = users.problemOf(account.name)
      const name =
        fields.application === undefined ? 'application: it is missing.' : describeNameProblem({ app: fields.application })
      return [
        ...(name === undefined ? [] : [name]),
        ...(id !== undefined && (image === undefined || !hasImage(image, account.name, region.name, settings))
          ? [`imageId: the account ${account.name} does not have the image "${id}" in ${region.name}.`]
          : []),
        ...(id === undefined && commandOf(fields) === undefined
          ? ['command: it is missing, and no image says what is to run.']
          : []),
        ...(id === undefined && context.settings.bakery?.allowsCommands !== true
          ? [`command: ${describeRefusal('A job without an image')}`]
          : []),
        ...(fields.instanceType !== undefined && !account.instanceTypes.includes(fields.instanceType)
          ? [`instanceType: "${fields.instanceType}" is none of ${account.instanceTypes.join(', ')}.`]
          : []),
        ...(problem === undefined ? [] : [problem]),
      ]
    },
    run: (fields, run, description) => {
      const place = placeOf(description, settings)
      const { image } = imageOf(fields, place.account.name)
      const id = `job-${newId().toLowerCase()}`
      const region = place.region.name
      const job: LocalJob = {
        id,
        name: fields.name ?? id,
        account: place.account.name,
        region,
        application: fields.application ?? '',
        createdMs: context.now(),
        timeLimitMs: fields.runtimeLimitSecs ? fields.runtimeLimitSecs * 1000 : undefined,
        image: image?.id,
        program: toProgram(image?.program ?? ImageFile.parse({ command: commandOf(fields) }), {
          command: commandOf(fields),
          environment: fields.environment ?? fields.env,
          secrets: fields.secrets,
          limits: fields.limits ?? undefined,
          stopSeconds: fields.stopSeconds ?? undefined,
        }),
        digest: image?.digest,
        instanceType: fields.instanceType ?? defaultInstanceType(place, settings.defaultInstanceType),
        labels: fields.labels ?? {},
        end: undefined,
        leavingRevision: undefined,
      }
      commitChange(parts, run, () => {
        desired.put('jobs', job)
        run.note(`Starting the job ${id} in ${job.account}/${region}.`)
        run.report({
          serverGroupNames: [],
          serverGroupNameByRegion: {},
          messages: [],
          deployedNames: [id],
          deployedNamesByLocation: { [region]: [id] },
          createdArtifacts: [],
          deployments: [],
        })
      })
    },
  })

  const destroyJob = defineOperation({
    fields: z.looseObject({ jobName: optionalTextPart, jobId: optionalTextPart }),
    resources: ({ jobName, jobId, application }: JsonObject) => {
      const job = desired.get('jobs', textOf(jobId) ?? textOf(jobName) ?? '')
      return [application, job?.application]
    },
    check: ({ jobName, jobId }, description) => {
      placeOf(description, settings)
      return (jobId ?? jobName) === undefined ? ['jobName: it is missing.'] : []
    },
    run: ({ jobName, jobId }, run, description) => {
      const { account, region } = placeOf(description, settings)
      const job = desired.get('jobs', jobId ?? jobName ?? '')
      const isHere = job?.account === account.name && job.region === region.name && job.leavingRevision === undefined
      if (job === undefined || !isHere) return run.note(`The job ${jobId ?? jobName} does not exist: nothing is to be done.`)
      commitChange(parts, run, () => {
        desired.put('jobs', { ...job, leavingRevision: desired.revision + 1 })
        run.note(`Stopping the job ${job.id}.`)
      })
    },
  })

  return { runJob, destroyJob }
}

function commandOf({ command: given, cmd }: JobFields): string[] | undefined {
  return given ?? cmd
}
