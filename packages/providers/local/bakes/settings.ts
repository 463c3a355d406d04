/** Settings of bakes of this machine. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { formatJson } from '@fairlead/base/json/json.ts'
import { type SettingsReport, setting, settings } from '@fairlead/base/settings/setting.ts'
import { ImageFile, isProgram, parseImageId, programProblem } from '@fairlead/ports/image-file.ts'
import { z } from 'zod'
import type { BakerySurroundings } from '../../provider-type.ts'
import type { BakeTemplate, TemplateStep } from './plan.ts'

const inside = z
  .string()
  .min(1)
  .refine(
    (path) => !path.startsWith('/') && !path.split('/').includes('..'),
    'must be a relative path without ".."',
  )
const variable = z
  .string()
  .regex(
    /^[A-Za-z_][A-Za-z0-9_]*$/,
    'must have letters, digits and "_" only, and begin with no digit',
  )
const variables = z.record(
  variable,
  z.union([z.string(), z.number(), z.boolean()]).transform(String),
)

const ifExists = inside.optional().describe('Do the step only if the image has this path.')
const place = z
  .enum(['image', 'source'])
  .default('image')
  .describe('Working directory: the image, or the source.')

/** Exactly one of the first four says what the step does. */
const StepKeys = z
  .strictObject({
    copy: z
      .strictObject({
        from: inside.describe('Path in the source; `.` for everything but `.git`.'),
        to: inside.describe('Its place in the image; `.` for the root.'),
      })
      .optional()
      .describe('Copies from the source to the image.'),
    run: z
      .array(z.string().min(1))
      .min(1)
      .refine(isProgram, `${programProblem}; for a line of text, use shell`)
      .optional()
      .describe('Program and arguments, run without a shell.'),
    shell: z.string().min(1).optional().describe('Text for `sh -c`.'),
    environment: variables.optional().describe('Environment variables of the steps that follow.'),
    in: place,
    'if-exists': ifExists,
  })
  .refine(
    ({ copy, run, shell, environment }) =>
      [copy, run, shell, environment].filter((part) => part !== undefined).length === 1,
    'must have exactly one of copy, run, shell and environment',
  )

const Template = z.strictObject({
  id: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]*$/, 'must have letters, digits, ".", "_" and "-" only')
    .describe('Name; stages choose it as their base OS.'),
  description: z.string().default('').describe('Label in the web UI.'),
  details: z.string().default('').describe('Tooltip in the web UI.'),
  from: z
    .string()
    .refine((id) => parseImageId(id) !== undefined, 'must be an image such as node:26')
    .optional()
    .describe('Image `NAME:VERSION` that the new image starts with.'),
  environment: variables.default({}).describe('Environment variables of all steps.'),
  steps: z.array(StepKeys).describe('Steps that fill the image, in order.'),
  image: ImageFile.optional().describe(
    '`fairlead-image.yml` of images, to which a file of the source adds and gives other values.',
  ),
})

export const bakeKeys = settings({
  templates: setting('bakery.local.templates', z.array(Template).default([])).describe(
    'Templates of images, offered as base images. `directory`, `node`, `python` and `go` are built in.',
  ),
  packages: setting('bakery.local.packages', z.string().min(1).default('packages')).describe(
    'Directory with packages: directories, or archives `.tar`, `.tar.gz` and `.tgz`. Relative to the data directory.',
  ),
  timeLimitMs: setting(
    'bakery.local.time-limit-minutes',
    z
      .number()
      .min(0.01)
      .max(1440)
      .default(30)
      .transform((minutes) => Math.round(minutes * 60_000)),
  ).describe('Minutes that a bake may take.'),
  memoryMb: setting('bakery.local.memory-mb', z.int().min(16).default(4096)).describe(
    'Memory that one bake may take, in MiB.',
  ),
  processes: setting('bakery.local.processes', z.int().min(16).default(4096)).describe(
    'Processes and threads of one bake.',
  ),
  diskMb: setting('bakery.local.disk-mb', z.int().min(16).default(16_384)).describe(
    'Disk space that one bake may take for its source, its image and temporary files, in MiB.',
  ),
  cacheMb: setting('bakery.local.cache-mb', z.int().min(0).default(2048)).describe(
    'Size of the cache for packages of npm, pip, uv and Go that an account keeps between bakes, in MiB. After a bake, a larger one ' +
      'is removed. 0: no cache.',
  ),
  maxRunning: setting('bakery.local.max-running', z.int().min(1).default(8)).describe(
    'Bakes that may run at the same time; more are answered with 503.',
  ),
  maxRunningPerUser: setting(
    'bakery.local.max-running-per-user',
    z.int().min(1).default(4),
  ).describe('Bakes that one user may have running; more are answered with 429.'),
})
export type BakeSettings = ReturnType<typeof toBakeSettings>

const everything: TemplateStep = { kind: 'copy', from: '.', to: '.' }

const exportByUv = 'uv export --frozen --no-dev --no-emit-project --output-file requirements.txt'

const builtIn: readonly BakeTemplate[] = [
  {
    id: 'directory',
    description: 'As it is',
    details: 'The files of the source, without any step. They include fairlead-image.yml.',
    environment: {},
    steps: [everything],
  },
  {
    id: 'node',
    description: 'Node.js',
    details:
      'Installs the dependencies of package-lock.json, and starts the program that package.json names as "main".',
    environment: {
      NODE_ENV: 'production',
      npm_config_update_notifier: 'false',
      npm_config_fund: 'false',
      npm_config_audit: 'false',
    },
    steps: [
      everything,
      {
        kind: 'refuse',
        ifExists: 'package.json',
        containing: '"dependencies"',
        without: 'package-lock.json',
        message:
          'package.json has dependencies, but there is no package-lock.json. Run "npm install", and commit the file.',
      },
      {
        kind: 'run',
        command: ['npm', 'ci', '--omit=dev'],
        in: 'image',
        ifExists: 'package-lock.json',
      },
    ],
    image: formatJson(ImageFile.parse({ command: ['node', '.'] })),
  },
  {
    id: 'python',
    description: 'Python',
    details:
      'Installs requirements.txt or uv.lock into the folder lib, and starts main.py. Virtual environments of the source are left out.',
    environment: { PIP_DISABLE_PIP_VERSION_CHECK: '1', PIP_ROOT_USER_ACTION: 'ignore' },
    steps: [
      everything,
      {
        kind: 'run',
        command: [...exportByUv.split(' '), '--quiet'],
        in: 'image',
        ifExists: 'uv.lock',
        unlessExists: 'requirements.txt',
        remedy: `The source has uv.lock. Install uv on this machine, or run "${exportByUv}" and commit requirements.txt.`,
      },
      {
        kind: 'refuse',
        ifExists: 'pyproject.toml',
        containing: 'dependencies',
        without: 'requirements.txt',
        message:
          'pyproject.toml has dependencies, but there is neither uv.lock nor requirements.txt. Run "uv lock", or "pip-compile", and ' +
          'commit the file.',
      },
      // Their links lead to the Python of the machine, which no image may.
      { kind: 'run', command: ['rm', '-rf', '.venv', 'venv'], in: 'image' },
      {
        kind: 'run',
        command: ['python3', '-m', 'pip', '--version'],
        in: 'image',
        ifExists: 'requirements.txt',
        remedy:
          'Bakes find no Python with pip. Install python3 and python3-pip. A version manager such as pyenv or asdf must choose a version ' +
          'without variables and files of a home, and have the one that .python-version of the source names.',
      },
      {
        kind: 'run',
        command: [
          'python3',
          '-m',
          'pip',
          'install',
          '--target',
          'lib',
          '--requirement',
          'requirements.txt',
        ],
        in: 'image',
        ifExists: 'requirements.txt',
      },
    ],
    image: formatJson(
      ImageFile.parse({ command: ['python3', 'main.py'], environment: { PYTHONPATH: 'lib' } }),
    ),
  },
  {
    id: 'go',
    description: 'Go',
    details: 'Builds the main package at the root of the source, and starts it.',
    // Modules that only their owner may not write could not be removed after the bake.
    environment: { GOFLAGS: '-modcacherw', GOTOOLCHAIN: 'local', CGO_ENABLED: '0' },
    steps: [
      everything,
      {
        kind: 'refuse',
        containing: '',
        without: 'go.mod',
        message:
          'The source has no go.mod at its root. Run "go mod init", or name the folder of the module with the attribute path.',
      },
      {
        kind: 'run',
        command: ['go', 'build', '-trimpath', '-buildvcs=false', '-o', 'app', '.'],
        in: 'image',
        remedy:
          'See the lines before. Go must be installed on this machine, in the version that go.mod names or a newer one.',
      },
    ],
    image: formatJson(ImageFile.parse({ command: ['./app'] })),
  },
]

export function toBakeSettings(
  keys: object,
  report: Pick<SettingsReport, 'problem'>,
  { dataDir }: BakerySurroundings,
) {
  const { templates: listed, packages: folder, ...bounds } = bakeKeys.read(keys)
  const templates = listed.map(toTemplate)
  const ids = new Set<string>()
  for (const { id } of templates) {
    if (ids.has(id))
      report.problem('bakery.local.templates', `the template "${id}" is listed twice`)
    ids.add(id)
  }
  const packages = resolve(dataDir, folder)
  if (isOtherThanDirectory(packages)) {
    report.problem(
      'bakery.local.packages',
      `${packages} is no directory; name one that has the packages in it`,
    )
  }
  return {
    ...bounds,
    templates: [...templates, ...builtIn.filter(({ id }) => !ids.has(id))],
    packages,
  }
}

/** False for a path that does not exist yet, or that this user cannot look at: `fairlead check` may run as another user. */
function isOtherThanDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
  } catch {
    return false
  }
}

function toTemplate({ steps, ...template }: z.infer<typeof Template>): BakeTemplate {
  return {
    ...template,
    image: template.image && formatJson(template.image),
    steps: steps.map(toStep),
  }
}

function toStep({
  copy,
  run,
  shell,
  environment,
  in: folder,
  'if-exists': ifPresent,
}: z.infer<typeof StepKeys>): TemplateStep {
  if (copy !== undefined) return { kind: 'copy', ...copy, ifExists: ifPresent }
  if (environment !== undefined)
    return { kind: 'environment', variables: environment, ifExists: ifPresent }
  return { kind: 'run', command: run ?? ['sh', '-c', shell ?? ''], in: folder, ifExists: ifPresent }
}
