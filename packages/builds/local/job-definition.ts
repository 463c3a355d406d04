/** Jobs as the configuration and `.fairlead/build.yml` declare them. */

import { ImageEnvironment, isProgram, programProblem } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'
import type { SourceAction } from './sources/source-actions.ts'

const inside = z
  .string()
  .min(1)
  .refine(
    (path) => !path.startsWith('/') && !path.split('/').includes('..'),
    'must be a relative path without ".."',
  )
/** A path with `*`, `**` and `?`. */
const globs = z.array(inside).default([])
const name = z
  .string()
  .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must have letters, digits, ".", "_" and "-" only')
const variable = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'must have letters, digits and "_" only, and begin with no digit',
  )
const scalar = z.union([z.string(), z.number(), z.boolean()]).transform(String)
const program = z
  .array(z.string().min(1))
  .min(1)
  .refine(isProgram, `${programProblem}; for a line of text, use shell`)

const Parameter = z.strictObject({
  description: z.string().optional().describe('Help text.'),
  default: scalar.optional().describe('Value of builds that give none. Default: an empty text.'),
  choices: z.array(scalar).min(1).optional().describe('Values that it may have.'),
})

const ContainerImage = z.strictObject({
  name: z
    .string()
    .regex(/^[a-z0-9][\w.\-/:]*$/, 'must be a name such as registry.example.com/shop')
    .describe('Its name, without a tag.'),
  tag: z
    .string()
    .min(1)
    .default('{number}')
    .describe('Its tag; `{number}`, `{commit}` and `{branch}` are filled in.'),
  file: inside.optional().describe('The Dockerfile. Default: `Containerfile` or `Dockerfile`.'),
  context: inside.default('.').describe('Folder with its files.'),
  push: z.boolean().default(true).describe('Whether it is pushed to the registry of its name.'),
})

const StepObject = z
  .strictObject({
    name: z.string().optional().describe('Its title in the log.'),
    shell: z.string().min(1).optional().describe('Text for `sh -e -c`.'),
    run: program.optional().describe('Program and arguments, run without a shell.'),
    'container-image': ContainerImage.optional().describe(
      'Builds a container image with buildah, and pushes it.',
    ),
    in: inside.default('.').describe('Working directory in the checkout.'),
    environment: ImageEnvironment.default({}).describe('Environment variables of this step.'),
    always: z.boolean().default(false).describe('Whether the step runs after a failure, too.'),
  })
  .refine(
    (step) =>
      [step.shell, step.run, step['container-image']].filter((part) => part !== undefined)
        .length === 1,
    'must have exactly one of shell, run and container-image',
  )

/** A step that is a line for the shell only. */
const ShellLine = z
  .string()
  .min(1)
  .transform((shell) => StepObject.parse({ shell }))

const Step = z
  .union([ShellLine, StepObject], 'must be a line for the shell, or a map of keys')
  .transform(toStep)
type DeclaredStep = ReturnType<typeof toStep>

/** Steps of uploaded folders have further actions, which no file can declare. */
export type BuildStep = Omit<DeclaredStep, 'action'> & {
  readonly action: DeclaredStep['action'] | SourceAction
}

const Service = z
  .strictObject({
    run: program.optional().describe('Program and arguments.'),
    shell: z.string().min(1).optional().describe('Text for `sh -c`.'),
    port: z
      .int()
      .min(1)
      .max(65_535)
      .optional()
      .describe('Port that it listens on. Default: a free one, in `PORT`.'),
    'ready-seconds': z
      .number()
      .min(0.1)
      .max(3600)
      .default(60)
      .describe('Seconds within which the port must accept connections.'),
    environment: ImageEnvironment.default({}).describe('Its environment variables.'),
  })
  .refine(
    ({ run, shell }) => (run === undefined) !== (shell === undefined),
    'must have either run or shell',
  )
  .transform(({ 'ready-seconds': seconds, run, shell, ...service }) => ({
    ...service,
    command: run ?? ['sh', '-c', shell ?? ''],
    readyMs: seconds * 1000,
  }))
export type ServiceContainer = z.output<typeof Service>

const Publish = z.strictObject({
  image: name.describe('Name of the image.'),
  version: z
    .string()
    .min(1)
    .default('{number}-{commit}')
    .describe('Its version; `{number}`, `{commit}`, `{branch}` and `{PARAMETER}` are filled in.'),
  from: inside.default('.').describe('Folder of the checkout that becomes the image.'),
})

/** Keys that a job has in the configuration and in `.fairlead/build.yml`. */
export const jobKeys = {
  description: z.string().optional().describe('What the job does.'),
  enabled: z.boolean().default(true).describe('Whether it can be started.'),
  concurrent: z
    .boolean()
    .default(true)
    .describe('Whether several builds of it may run at the same time.'),
  parameters: z
    .record(variable, Parameter)
    .default({})
    .describe('Parameters by name; steps have them as environment variables.'),
  environment: ImageEnvironment.default({}).describe(
    'Environment variables; `secret:NAME` is a secret.',
  ),
  services: z
    .record(name, Service)
    .default({})
    .describe('Programs that run beside the steps, by name.'),
  cache: z
    .array(inside)
    .default([])
    .describe('Folders of the checkout that are kept from build to build.'),
  archive: globs.describe('Files that are kept with the build, as paths with `*`, `**` and `?`.'),
  tests: z
    .strictObject({
      junit: globs.describe('Reports of JUnit.'),
      tap: globs.describe('Reports in the Test Anything Protocol.'),
    })
    .prefault({})
    .describe('Test reports.'),
  publish: Publish.optional().describe('Image for the programs of this machine.'),
  'time-limit-minutes': z
    .number()
    .min(0.01)
    .max(1440)
    .optional()
    .describe('Minutes that a build may take.'),
}

const steps = z.array(Step).min(1)

/** The reader of the configuration takes lists of one kind only, and steps are of two. */
export const configuredSteps = z
  .unknown()
  .meta({ template: true, type: 'list of steps' })
  .pipe(steps)

const JobFields = z.strictObject({ ...jobKeys, steps })

export const BuildFile = z.strictObject({
  jobs: z.record(
    z
      .string()
      .regex(
        /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)*$/,
        'must have letters, digits, ".", "_", "-" and "/" only',
      ),
    JobFields.transform(toJob),
  ),
})

export type BuildFile = z.output<typeof BuildFile>
export type JobDefinition = Omit<ReturnType<typeof toJob>, 'steps'> & {
  readonly steps: readonly BuildStep[]
}

type JobFields = z.output<typeof JobFields>

export function toJob({ enabled, concurrent, 'time-limit-minutes': minutes, ...job }: JobFields) {
  const timeLimitMs = minutes === undefined ? undefined : Math.round(minutes * 60_000)
  return { ...job, isEnabled: enabled, isConcurrent: concurrent, timeLimitMs }
}

function toStep({ shell, run, 'container-image': image, ...step }: z.output<typeof StepObject>) {
  const action =
    image !== undefined
      ? ({ kind: 'container-image', ...image } as const)
      : ({ kind: 'run', command: run ?? ['sh', '-e', '-c', shell ?? ''] } as const)
  return {
    ...step,
    title: step.name ?? shell ?? run?.join(' ') ?? `container image ${image?.name}`,
    action,
  }
}
