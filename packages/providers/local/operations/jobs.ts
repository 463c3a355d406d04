/** runJob and destroyJob: commands that run once. */

import { definedOf } from '@fairlead/base/json/values.ts'
import { describeNameProblem, parseMoniker } from '@fairlead/base/names/moniker.ts'
import { describeRefusal } from '@fairlead/base/settings/standalone.ts'
import { Command, ImageFile } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'
import type { ContainerPlan } from '../containers.ts'
import type { LocalGroup, LocalJob } from '../desired.ts'
import { toProgram } from '../program.ts'
import { confineCommand } from '../program-sandbox.ts'
import { sealSecrets } from '../program-secrets.ts'
import { checkInstanceType, defaultInstanceType } from './create.ts'
import { type GivenImage, loadImage, noteImage, problemOfImage } from './given-image.ts'
import {
  defineOperation,
  imageField,
  type LocalOperations,
  type LocalSubmission,
  numeric,
  optionalField,
  optionalTextPart,
  overridesOf,
  placeOf,
  programFields,
  type RunningOperation,
  type TargetPlace,
  textMap,
} from './parts.ts'

const command = optionalField(z.union([Command, z.string().trim().min(1)]))
  .transform((value) => (typeof value === 'string' ? ['sh', '-c', value] : value))
  .pipe(Command.optional())

const JobFields = z.object({
  ...programFields,
  application: optionalTextPart,
  name: optionalTextPart,
  imageId: optionalTextPart,
  image: imageField('imageId'),
  command,
  cmd: command,
  labels: textMap,
  /**
   * Runs as its instances do: with their image, variables, secrets, limits and shared volumes. The name of a cluster means the newest
   * server group of it that is enabled.
   */
  likeServerGroup: optionalTextPart,
  instanceType: optionalTextPart,
  runtimeLimitSecs: optionalField(numeric(z.number().min(1))),
})
type JobFields = z.output<typeof JobFields>

const runJob = defineOperation({
  fields: JobFields.shape,
  resources: ({ fields: { application, likeServerGroup } }) => [application, likeServerGroup],
  check: (submission) => {
    const { fields, users, context } = submission
    const place = placeOf(submission)
    const { likeServerGroup } = fields
    const isCommand = imageIdOf(fields) === undefined && likeServerGroup === undefined
    return [
      likeServerGroup !== undefined &&
        sourceOf(submission, place) === undefined &&
        `likeServerGroup: there is no ${likeServerGroup} in ${place.account.name}/${place.region.name}.`,
      fields.application === undefined
        ? 'application: it is missing.'
        : describeNameProblem({ app: fields.application }),
      imageIdOf(fields) !== undefined && problemOfImage(imageIdOf(fields) ?? '', place, submission),
      isCommand &&
        commandOf(fields) === undefined &&
        'command: it is missing, and no image says what is to run.',
      isCommand &&
        context.settings.bakery?.allowsCommands !== true &&
        `command: ${describeRefusal('A job without an image')}`,
      checkInstanceType(fields, place),
      users.problemOf(place.account.name),
    ]
  },
  run: (running) => running.containers.holding(() => startJob(running)),
})

async function startJob(running: RunningOperation<JobFields>): Promise<void> {
  const { desired, run, change, context, settings, variables } = running
  const place = placeOf(running)
  const source = sourceOf(running, place)
  const imageId = imageIdOf(running.fields) ?? source?.image.id
  const image =
    imageId === undefined
      ? undefined
      : await loadImage(
          imageId,
          { place, usually: { network: 'own' }, cloned: source, given: given(source) },
          running,
        )
  const order = toJob(running, place, { image, source })
  const { id, account, region, application, program, name } = order
  const use = { application, account, user: run.user, place: `job ${name} in ${account}/${region}` }
  const sealed = await sealSecrets(program, use, { secrets: context.ports.secrets, variables, run })
  // What an image starts is a program of the account, as in a server group.
  const confined =
    image === undefined
      ? await confineCommand(running, { ...order, readable: settings.readable })
      : undefined
  const job = { ...order, sealed, ...definedOf({ confined }) }
  change(() => {
    if (image !== undefined) noteImage(image, account, running)
    desired.put('jobs', job)
    run.note(`Starting the job ${id} in ${account}/${region}.`)
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
}

const destroyJob = defineOperation({
  fields: { jobName: optionalTextPart, jobId: optionalTextPart },
  resources: ({ fields: { jobName = '', jobId = jobName }, desired }) => [
    desired.get('jobs', jobId)?.application,
  ],
  check: (submission) => {
    placeOf(submission)
    return [
      (submission.fields.jobId ?? submission.fields.jobName) === undefined &&
        'jobName: it is missing.',
    ]
  },
  run: (running) => {
    const { fields, desired, run, change } = running
    const { account, region } = placeOf(running)
    const id = fields.jobId ?? fields.jobName ?? ''
    const job = desired.get('jobs', id)
    const isHere =
      job?.account === account.name &&
      job.region === region.name &&
      job.leavingRevision === undefined
    if (!isHere) return run.note(`The job ${id} does not exist: nothing is to be done.`)
    change(() => {
      desired.dismissJob(job)
      run.note(`Stopping the job ${id}.`)
    })
  },
})

/** Nothing of it listens, so that it has no port of the source; what is on the machine's network stays there. */
function given(source: LocalGroup | undefined): Pick<ContainerPlan, 'network'> | undefined {
  const { container } = source?.program ?? {}
  return container && { network: container.port === undefined ? 'host' : 'own' }
}

function sourceOf(
  { fields: { likeServerGroup }, desired }: LocalSubmission<JobFields>,
  { account, region }: TargetPlace,
): LocalGroup | undefined {
  if (likeServerGroup === undefined) return undefined
  const named = desired.groupAt(account.name, region.name, likeServerGroup)
  if (named !== undefined) return named
  const { app, cluster } = parseMoniker(likeServerGroup)
  return [...desired.groupsOf(app ?? '')]
    .filter(
      (group) =>
        group.account === account.name &&
        group.region === region.name &&
        !group.isDisabled &&
        parseMoniker(group.name).cluster === cluster,
    )
    .sort((one, other) => other.createdMs - one.createdMs)[0]
}

function imageIdOf({ imageId, image }: JobFields): string | undefined {
  return imageId ?? image
}

function commandOf({ command: given, cmd }: JobFields): string[] | undefined {
  return given ?? cmd
}

function toJob(
  { fields, settings, context, newId }: LocalSubmission<JobFields>,
  place: TargetPlace,
  {
    image,
    source,
  }: { readonly image: GivenImage | undefined; readonly source: LocalGroup | undefined },
): LocalJob {
  const id = `job-${newId().toLowerCase()}`
  const given = commandOf(fields)
  const program = toProgram(
    image?.program ?? ImageFile.parse({ command: given }),
    { ...overridesOf(fields), command: given },
    source?.program,
  )
  return {
    id,
    name: fields.name ?? id,
    account: place.account.name,
    region: place.region.name,
    application: fields.application ?? '',
    createdMs: context.now(),
    timeLimitMs: fields.runtimeLimitSecs && fields.runtimeLimitSecs * 1000,
    image: image?.id,
    program: { ...program, volumes: program.volumes?.filter(({ shared }) => shared) },
    ...definedOf({ startedFor: source?.name }),
    digest: image?.digest,
    instanceType:
      fields.instanceType ??
      source?.instanceType ??
      defaultInstanceType(place, settings.defaultInstanceType),
    labels: fields.labels ?? {},
    end: undefined,
    leavingRevision: undefined,
  }
}

export const localJobOperations: LocalOperations = {
  runJob,
  destroyJob,
}
