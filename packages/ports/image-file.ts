/** `fairlead-image.yml`, the file at the root of an image that says how it runs. */
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { formatJson, parseJson } from '@fairlead/base/json/json.ts'
import { isObject, objectOf } from '@fairlead/base/json/values.ts'
import { parseYaml } from '@fairlead/base/json/yaml.ts'
import { PortError } from '@fairlead/base/port-error.ts'
import { describeIssues } from '@fairlead/base/settings/describe-issue.ts'
import { z } from 'zod'

const imageFileName = 'fairlead-image.yml'
const maxBytes = 64 * 1024

const variable = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'a variable has letters, digits and "_" only, and begins with no digit',
  )
/** Operating systems end texts at a zero byte. */
const hasNoZeroByte = (text: string) => !text.includes('\0')
const zeroByte = 'it must not contain a zero byte'
const value = z
  .union([z.string(), z.number(), z.boolean()])
  .transform(String)
  .refine(hasNoZeroByte, zeroByte)
/** Path in the first line of a request. */
const requestPath = z
  .string()
  .regex(
    /^\/[!-~]*$/,
    'a path begins with "/" and has printable characters of ASCII without spaces',
  )

/** No program is found by a name with a space, unless it is a path. */
export const isProgram = ([name = '']: readonly string[]) =>
  name.includes('/') || !/\s/.test(name.trim())
export const programProblem =
  'must be a list of the program and each argument, such as [npm, start]'

/** A program and its arguments. */
export const Command = z
  .array(z.string().min(1).refine(hasNoZeroByte, zeroByte))
  .min(1)
  .refine(isProgram, programProblem)
export const ImageEnvironment = z.record(variable, value)

export const ProgramLimitsFile = z
  .strictObject({
    memoryMb: z.int().min(8).optional().describe('Megabytes of memory of all its processes.'),
    processes: z.int().min(1).optional().describe('Number of processes and threads.'),
    openFiles: z.int().min(16).optional().describe('Number of open files of each process.'),
    diskMb: z.int().min(1).optional().describe('Megabytes of its working directory.'),
  })
  .describe(
    'Limits of each instance; those of the instance type apply as well, and the smaller one counts.',
  )

export const Readiness = z
  .strictObject({
    path: requestPath
      .optional()
      .describe('Path of an HTTP request; a status below 400 means ready.'),
    tcp: z.boolean().optional().describe('Ready as soon as the port accepts connections.'),
    running: z
      .boolean()
      .optional()
      .describe('Ready as soon as it runs, for programs that listen on no port.'),
    status: z
      .int()
      .min(200)
      .max(399)
      .optional()
      .describe('With `path`: the only status that means ready.'),
    host: z
      .string()
      .regex(/^[A-Za-z0-9.:_-]{1,255}$/, 'it must be the name of a host')
      .optional()
      .describe('With `path`: sent as `Host`. Default: the address of the instance.'),
    intervalSeconds: z
      .number()
      .min(0.1)
      .max(3600)
      .default(2)
      .describe('Seconds between two probes.'),
    timeoutSeconds: z
      .number()
      .min(0.1)
      .max(600)
      .default(2)
      .describe('Seconds that a probe may take.'),
  })
  .refine(
    ({ path, tcp, running }) => [path !== undefined, tcp, running].filter(Boolean).length === 1,
    'give one of "path", "tcp: true" and "running: true"',
  )

const VolumeFields = z.strictObject({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9-]{0,30}$/,
      'a volume is named with lower case letters, digits and "-", and begins with a letter',
    )
    .describe('Name of the volume; its directory is in the variable `FAIRLEAD_VOLUME_<NAME>`.'),
  shared: z
    .boolean()
    .default(false)
    .describe(
      'All instances of the cluster have one directory; otherwise, the first, the second and so on have one each.',
    ),
  writers: z
    .enum(['one', 'many'])
    .optional()
    .describe(
      '`one`: no instance starts beside another one of its directory. `many`: the next version may write beside the former one. Default: `many` where `shared`, otherwise deployments without a strategy take it as `one`.',
    ),
  path: z
    .string()
    .regex(/^\/[^:,\s]*$/, 'a path begins with "/" and has no spaces, colons or commas')
    .optional()
    .describe('Where a container finds it. Default: `/volumes/<name>`.'),
})
export const Volume = VolumeFields.refine(({ shared, writers }) => !(shared && writers === 'one'), {
  path: ['writers'],
  message: 'a volume that all instances share has many writers',
})
export type Volume = z.infer<typeof Volume>

/** Whether only one instance at a time may write into a directory of the volume, as far as its description says so. */
export function hasOneWriter({
  shared,
  writers,
}: Partial<Pick<Volume, 'shared' | 'writers'>>): boolean {
  return shared !== true && writers !== 'many'
}

export const Volumes = z
  .array(Volume)
  .max(20)
  .refine(
    (all) => new Set(all.map(({ name }) => name)).size === all.length,
    'each volume needs a name of its own',
  )

/** How the program in a container is reached. */
export const ContainerNetwork = z.strictObject({
  port: z
    .int()
    .min(1)
    .max(65_535)
    .optional()
    .describe('Port of its program. Default: the only one that the image exposes.'),
  network: z
    .enum(['host'])
    .optional()
    .describe(
      '`host`: it has the network of the machine, and its program listens on `PORT` of `HOST`.',
    ),
})
export const ContainerFile = ContainerNetwork.extend({
  image: z
    .string()
    .regex(/^[^\s/]+\/\S+$/, 'an image is named in full, such as docker.io/library/nginx:1.27')
    .describe('Image of a registry, or one below `localhost/` that this machine has.'),
  archive: z
    .strictObject({
      file: z.string().regex(/^\w[\w.-]*$/, 'it must be the name of a file beside this one'),
      id: z.string().regex(/^sha256:[0-9a-f]{64}$/, 'it must be the id of an image'),
    })
    .optional()
    .describe('The image itself, as `podman save` and `docker save` write it: nothing is pulled.'),
  files: z
    .string()
    .startsWith('/')
    .optional()
    .describe('Where in it the files beside this one are; its program then starts there.'),
})
export type ContainerFile = z.infer<typeof ContainerFile>

const Program = z.strictObject({
  command: Command.optional().describe(
    'Program and arguments. The process must listen on the port `PORT`.',
  ),
  container: ContainerFile.optional().describe(
    'A container in place of a program; `command` then replaces that of its image.',
  ),
  environment: ImageEnvironment.default({}).describe('Environment variables.'),
  ready: Readiness.prefault({ tcp: true }).describe('How an instance shows that it is ready.'),
  limits: ProgramLimitsFile.prefault({}),
  stopSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(10)
    .describe('Seconds between the request to stop (SIGTERM) and the end by force (SIGKILL).'),
  volumes: Volumes.optional().describe('Directories that stay when instances and versions go.'),
})

/** What a user writes into the file; a server group may override every part but the image of a container. */
export const ImageFile = Program.refine(
  ({ command, container }) => command !== undefined || container !== undefined,
  {
    path: ['command'],
    message: `it is missing; it ${programProblem}`,
  },
)
export type ImageFile = z.infer<typeof ImageFile>

/**
 * Adds to the file of an image what only the template of its bake says, a variable of the environment at a time.
 *
 * @param folder An unpacked image
 * @param defaults JSON; the whole file where the image has none
 */
export function completeImageFile(folder: string, defaults: string): void {
  const path = join(folder, imageFileName)
  const text = readForeignFile(path)
  if (text === undefined) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) writeFileSync(path, defaults)
    return
  }
  const own = parseOrUndefined(text)
  if (!isObject(own)) return
  const { command, ...others } = objectOf(parseJson(defaults))
  // The command of a template is none for a container that the author names.
  const given = own['container'] === undefined ? { command, ...others } : others
  const environment = { ...objectOf(others['environment']), ...objectOf(own['environment']) }
  rmSync(path)
  writeFileSync(path, formatJson({ ...given, ...own, environment }))
}

/** A file that cannot be read is reported when the image is deployed. */
function parseOrUndefined(text: string): unknown {
  try {
    return parseYaml(text, { maxAliasCount: 10 })
  } catch {
    return undefined
  }
}

/** @param folder An unpacked image @throws {PortError} 400 that says what is wrong with it */
export function loadImageFile(folder: string): ImageFile {
  const text = readForeignFile(join(folder, imageFileName))
  if (text === undefined) {
    throw new PortError(
      400,
      `The image has no ${imageFileName} at its root, of at most ${maxBytes} bytes. Add one with "command: [program, argument]".`,
    )
  }
  return parseImageFile(text)
}

/** @throws {PortError} 400 that says what is wrong with it */
export function parseImageFile(text: string): ImageFile {
  let document: unknown
  try {
    // A port may be written 8080.0: numbers of any spelling are numbers here.
    document = JSON.parse(formatJson(parseYaml(text, { maxAliasCount: 10 })))
  } catch (error) {
    throw new PortError(
      400,
      `${imageFileName} is not YAML: ${(error as Error).message.split('\n')[0]}`,
    )
  }
  const checked = ImageFile.safeParse(document)
  if (checked.success) return checked.data
  throw new PortError(400, `${imageFileName}: ${describeIssues(checked.error, 'the file')}.`)
}

/** Undefined unless there is a regular file of at most `maxBytes`: users may have put something else there, such as a pipe without an end. */
function readForeignFile(path: string): string | undefined {
  let file: number | undefined
  try {
    // Opening a pipe would otherwise wait for a writer.
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
    const found = fstatSync(file)
    return found.isFile() && found.size <= maxBytes ? readFileSync(file, 'utf8') : undefined
  } catch {
    return undefined
  } finally {
    if (file !== undefined) closeSync(file)
  }
}

export const imageNamePattern = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
export const imageVersionPattern = /^[A-Za-z0-9_][A-Za-z0-9._+-]{0,127}$/

/** `shop:1.0.0` → name and version; undefined when it is no image id. */
export function parseImageId(id: string): { name: string; version: string } | undefined {
  const mark = id.lastIndexOf(':')
  const [name, version] = [id.slice(0, mark), id.slice(mark + 1)]
  return mark > 0 && imageNamePattern.test(name) && imageVersionPattern.test(version)
    ? { name, version }
    : undefined
}
