/**
 * The app file, `.fairlead/app.yml`: its keys with types, checks and meaning. Errors, the JSON schema for editors and the types
 * below come from the same schemas. Defaults are applied in `merge-environment.ts`, after the environment's own values.
 */
import { standalone } from '@fairlead/base/settings/standalone.ts'
import { z } from 'zod'
import { checkTypes } from '../stage-types/verification.ts'
import {
  absolutePath,
  command,
  crontab,
  duration,
  folderPath,
  hostPlace,
  named,
  percent,
  plainText,
  size,
  text,
  timeZone,
} from './values.ts'

const Health = z
  .union(
    [
      absolutePath.transform((path) => ({ path })),
      z.strictObject({
        path: absolutePath.describe('Path that is requested.').optional(),
        status: z
          .int()
          .min(200)
          .max(399)
          .describe('The status that is wanted; any from 200 to 399 unless given.')
          .optional(),
        interval: duration('2s')
          .describe('Pause between two requests; 2s unless given.')
          .optional(),
        timeout: duration('5s').describe('Longest time of one; 5s unless given.').optional(),
        start: duration('60s').describe('How long a start may take; 60s unless given.').optional(),
        host: text
          .describe('Header `Host`; the first host of the service unless given.')
          .optional(),
        restart: z
          .boolean()
          .describe('On Kubernetes: restarts an instance that no longer answers.')
          .optional(),
      }),
    ],
    { error: 'it must be a path, or a map with path, status, interval, timeout, start, host' },
  )
  .meta({
    description: 'When an instance is ready. Without it: when its port is open.',
    examples: ['/healthz'],
  })

const Volume = z.strictObject({
  name: named('volume', 'a name of lower-case letters, digits and hyphens'),
  path: absolutePath.meta({
    description:
      'Where containers see it; for other programs, FAIRLEAD_VOLUME_NAME has its folder.',
    examples: ['/data'],
  }),
  shared: z.boolean().describe('Whether several instances may use it at a time.').optional(),
})

const Host = z.union(
  [
    hostPlace.transform((place) => ({ place, strip: false })),
    z
      .strictObject({
        host: hostPlace,
        strip: z.boolean().describe('Whether the path is removed from requests.').default(false),
      })
      .transform(({ host, strip }) => ({ place: host, strip })),
  ],
  { error: 'it must be the name of a host, or a host and a path' },
)

const Hosts = z
  .array(Host, { error: 'it must be a list of hosts' })
  .max(500)
  .meta({
    description: 'Hosts, or hosts and paths, whose requests the service gets.',
    examples: [['shop.example']],
  })

const Service = z.strictObject({
  command: command.describe('What runs; detected unless given.').optional(),
  instances: z
    .int()
    .min(0)
    .max(100)
    .meta({ description: 'How many; 1 unless given.', examples: [2] })
    .optional(),
  port: z
    .union([z.int().min(1).max(65535), z.literal('none')], {
      error: 'it must be a port from 1 to 65535, or none',
    })
    .meta({
      description:
        'Port that the program opens; the one in its variable PORT unless given. `none`: it opens none.',
      examples: [8080],
    })
    .optional(),
  health: Health.optional(),
  hosts: Hosts.optional(),
  schedule: crontab
    .describe('Runs at these times, instead of all the time: five fields, as in crontab.')
    .optional(),
  timezone: timeZone.describe('Zone of the schedule; UTC unless given.').optional(),
  onOverlap: z
    .enum(['skip', 'wait'])
    .describe('What a run does while the one before still runs; skip unless given.')
    .optional(),
  memory: size('512Mi').describe('Most memory of an instance.').optional(),
  cpu: z
    .number()
    .positive()
    .max(1024)
    .meta({ description: 'Most processors of an instance.', examples: [0.5] })
    .optional(),
  processes: z
    .int()
    .min(1)
    .max(4_194_304)
    .meta({ description: 'Most processes of an instance.', examples: [200] })
    .optional(),
  volumes: z.array(Volume).describe('Folders that outlive instances.').optional(),
  stop: duration('10s', 600_000)
    .describe('Time from SIGTERM to SIGKILL; 10s unless given.')
    .optional(),
  strategy: z
    .enum(['redblack', 'rolling', 'stop-first'])
    .describe('How new instances replace old ones.')
    .optional(),
})

const Release = z
  .union(
    [
      command.transform((line) => ({ command: line })),
      z.strictObject({
        command: command.optional(),
        timeout: duration('10m', 86_400_000).describe('10m unless given.').optional(),
      }),
    ],
    { error: 'it must be a command, or a map with command and timeout' },
  )
  .meta({
    description: 'Runs once with the new version, before any instance of it starts.',
    examples: ['node migrate.js'],
  })

const variableForm = 'the name of a variable: letters, digits and underscores'
const variable = named('variable', variableForm)
const secret = named('secret', 'the name of a secret')
const VariablesOfSecrets = z.record(variable, secret)

const Secrets = z
  .union(
    [
      z.array(
        z.union([variable, VariablesOfSecrets], {
          error: `it must be ${variableForm}, or {VARIABLE: secret}`,
        }),
      ),
      VariablesOfSecrets,
    ],
    {
      error: 'it must be a list of names, or a map from variables to names of secrets',
    },
  )
  .meta({
    description: 'Variables whose values are secrets: names, or {VARIABLE: name}.',
    examples: [['DATABASE_URL']],
  })

const attachmentTypes = ['postgresql', 'redis', 'valkey', 'mariadb'] as const
export type AttachmentType = (typeof attachmentTypes)[number]

const AttachmentFields = z.strictObject({
  type: z.enum(attachmentTypes).optional(),
  version: plainText
    .meta({
      description: 'Major version; the newest installed one unless given.',
      examples: ['17'],
    })
    .optional(),
  memory: size('512Mi').describe('512Mi unless given.').optional(),
  backup: z
    .union([z.literal('off'), crontab], {
      error: 'it must be a cron expression of 5 fields, or off',
    })
    .meta({ description: 'When it is backed up; daily unless given.', examples: ['0 4 * * *'] })
    .optional(),
  keep: z.int().min(1).max(1000).describe('How many backups are kept; 7 unless given.').optional(),
  as: variable
    .meta({ description: 'Variable with its address.', examples: ['ORDERS_URL'] })
    .optional(),
  persistence: z
    .enum(['everysec', 'always'])
    .describe('redis, valkey: when writes are on the disk; everysec unless given.')
    .optional(),
  'as-cache': z
    .boolean()
    .describe('redis, valkey: whether it may drop keys when its memory is full.')
    .optional(),
  container: z
    .union(
      [
        z.boolean(),
        z.string().regex(/^[^\s/]+\/\S+$/, 'it must be an image with its registry, or true'),
      ],
      { error: 'it must be true, false, or an image with its registry' },
    )
    .meta({
      description:
        'Whether it runs in a container, or the image. Unless given: where its program is not installed.',
      examples: ['docker.io/library/postgres:17'],
    })
    .optional(),
  external: secret
    .describe('Secret with the address of a database elsewhere, which Fairlead does not run.')
    .optional(),
})

const Attachment = z.union(
  [z.enum(attachmentTypes).transform((type) => ({ type })), AttachmentFields],
  { error: `it must be one of ${attachmentTypes.join(', ')}, or a map with type` },
)

const Limits = z.strictObject({
  body: size('100Mi').describe('Largest body; 100Mi unless given.').optional(),
  headers: size('32Ki').describe('Largest headers; 32Ki unless given.').optional(),
  read: duration('60s').describe('Longest time to receive a request; 60s unless given.').optional(),
  idle: duration('60s')
    .describe('How long a connection stays without a request; 60s unless given.')
    .optional(),
  websocket: duration('1h').describe('How long a WebSocket may live; 1h unless given.').optional(),
  drain: duration('5m')
    .describe('How long connections of a former version may stay open; 5m unless given.')
    .optional(),
  compress: z
    .enum(['off', 'gzip', 'brotli'])
    .describe('Compression of texts; off unless given.')
    .optional(),
})

const clock = z
  .string()
  .regex(/^(?:[01]\d|2[0-3]):[0-5]\d$|^24:00$/, 'it must be a time of day such as 09:00')

/** Percentage of the requests, and milliseconds. */
interface Canary {
  percent?: number
  config?: string
  duration?: number
}

const Promote = z.strictObject({
  judgment: z
    .array(text)
    .meta({
      description: 'Roles, one of which a user needs to approve; empty: all users.',
      examples: [['ops']],
    })
    .optional(),
  soak: duration('30m').describe('How long a version runs in the environment before.').optional(),
  canary: z
    .union(
      [
        percent.transform((share): Canary => ({ percent: share })),
        z.strictObject({
          percent: percent.optional(),
          config: text.describe('Name of a canary configuration.').optional(),
          duration: duration('10m').optional(),
        }),
      ],
      {
        error: 'it must be a percentage, or a map with percent, config and duration',
      },
    )
    .meta({
      description: 'Share of the requests that a new version gets first.',
      examples: ['10%'],
    })
    .optional(),
  window: z
    .strictObject({
      days: z
        .array(z.enum(['mon', 'tue', 'wed', 'thu', 'fri', 'sat', 'sun']))
        .min(1)
        .optional(),
      from: clock.optional(),
      to: clock.optional(),
    })
    .describe('Days and times of day, in UTC, at which versions are promoted.')
    .optional(),
  verify: z
    .array(z.looseObject({ type: z.enum(checkTypes) }))
    .describe(
      'Checks after a deployment, as those of the stage verify; a failure returns to the version before.',
    )
    .optional(),
})

/** What holds in every environment that does not say otherwise. */
const overridable = {
  account: text
    .meta({
      description: 'Account where services run; that of this machine unless given.',
      examples: [standalone.account],
    })
    .optional(),
  registry: text
    .meta({
      description: 'Repository of images; the local store unless given.',
      examples: ['registry.example/shop'],
    })
    .optional(),
  services: z
    .record(
      named('service', 'the name of a service: at most 30 lower-case letters, digits and hyphens'),
      Service,
    )
    .meta({
      description: 'What runs, by name.',
      examples: [{ web: { command: 'node server.js', hosts: ['shop.example'] } }],
    }),
  release: Release.optional(),
  env: z
    .record(variable, plainText)
    .meta({ description: 'Variables of all services.', examples: [{ LOG_LEVEL: 'info' }] })
    .optional(),
  secrets: Secrets.optional(),
  attach: z
    .record(named('attachment', 'a name of at most 30 lower-case letters and digits'), Attachment)
    .meta({ description: 'Databases by name.', examples: [{ db: 'postgresql' }] })
    .optional(),
  limits: Limits.describe('Limits of requests.').optional(),
  redirect: z
    .record(z.string(), hostPlace)
    .meta({
      description: 'Hosts that lead to other ones.',
      examples: [{ 'www.shop.example': 'shop.example' }],
    })
    .optional(),
  hsts: z
    .strictObject({
      'max-age': duration('365d', 3650 * 86_400_000).optional(),
      subdomains: z.boolean().optional(),
    })
    .describe('Header Strict-Transport-Security.')
    .optional(),
  'error-page': folderPath
    .meta({
      description: 'HTML file that is shown while no instance is ready.',
      examples: ['public/503.html'],
    })
    .optional(),
}

const Overridable = z.strictObject(overridable)
export type AppValues = z.output<typeof Overridable>
export type ServiceValues = AppValues['services'][string]

/** Maps merge by key, lists replace, null removes. */
type Override<Value> = Value extends readonly unknown[]
  ? Value
  : Value extends object
    ? { readonly [Key in keyof Value]?: Override<Value[Key]> | null }
    : Value

type EnvironmentValues = Override<AppValues> & {
  readonly hosts?: z.output<typeof Hosts> | null
  readonly promote?: z.output<typeof Promote> | null
}

const Environment = (overridesOf(Overridable.partial()) as z.ZodObject).extend({
  hosts: Hosts.nullish(),
  promote: Promote.describe('What must hold before a version gets here.').nullish(),
}) as unknown as z.ZodType<EnvironmentValues>

const Build = z
  .union(
    [
      z.enum(['auto', 'dockerfile', 'procfile', 'static']),
      z.strictObject({
        steps: z
          .array(command)
          .min(1)
          .meta({ description: 'Commands that build it.', examples: [['make']] })
          .optional(),
        from: folderPath
          .meta({
            description: 'Folder of the app in a repository with several.',
            examples: ['apps/web'],
          })
          .optional(),
        dockerfile: folderPath.meta({ examples: ['deploy/Dockerfile'] }).optional(),
        node: plainText.meta({ description: 'Version of Node.', examples: ['22'] }).optional(),
        python: plainText
          .meta({ description: 'Version of Python.', examples: ['3.12'] })
          .optional(),
        cache: z
          .array(folderPath)
          .meta({
            description: 'Folders that the next build finds again.',
            examples: [['.next/cache']],
          })
          .optional(),
      }),
    ],
    {
      error:
        'it must be auto, dockerfile, procfile or static, or a map with steps, from, dockerfile, node, python, cache',
    },
  )
  .meta({
    description: 'How it is built; auto, by what is in the folder, unless given.',
    examples: ['auto'],
  })

const Preview = z
  .union(
    [
      z.boolean(),
      z.strictObject({
        hosts: z
          .string()
          .regex(
            /^\{branch\}(?:-[a-z0-9-]+)?(?:\.[a-z0-9-]+)+$/,
            'it must be a pattern such as {branch}.preview.example',
          )
          .meta({ examples: ['{branch}.preview.example'] })
          .optional(),
        expire: duration('7d').describe('7d unless given.').optional(),
        attach: z
          .enum(['fresh', 'none'])
          .describe('fresh: databases of its own, empty.')
          .optional(),
      }),
    ],
    { error: 'it must be true, or a map with hosts, expire, attach' },
  )
  .meta({ description: 'An environment for each branch.', examples: [true] })

export const AppFileSchema = z
  .strictObject({
    application: named('application', 'a name of at most 50 lower-case letters and digits').meta({
      description: 'Name of the application.',
      examples: ['shop'],
    }),
    build: Build.optional(),
    ...overridable,
    environments: z
      .record(
        named('environment', 'a name of at most 30 lower-case letters and digits'),
        Environment,
      )
      .describe(
        'Environments, in the order of promotion, with what differs there. The first is the target of deploy.',
      )
      .optional(),
    preview: Preview.optional(),
    aliases: z
      .record(named('alias', 'a name of lower-case letters, digits and hyphens'), text)
      .meta({
        description: 'Commands of your own.',
        examples: [{ console: 'exec web -- rails c' }],
      })
      .optional(),
  })
  .meta({
    description: 'What an application is: its services, hosts, databases and environments.',
  })

/** File with durations in milliseconds, sizes in bytes, and short forms as maps. */
export type AppFile = z.output<typeof AppFileSchema>
export type Attachment = z.output<typeof AttachmentFields>

/** The schema of overrides: every key may be left out, and null removes it. Schemas with a transformation are values as a whole, and stay what they are. */
function overridesOf(schema: z.core.$ZodType): z.ZodType {
  const made = convertOverrides(schema)
  const notes = z.globalRegistry.get(schema)
  return notes === undefined ? made : made.meta(notes)
}

function convertOverrides(schema: z.core.$ZodType): z.ZodType {
  if (schema instanceof z.ZodOptional) return overridesOf(schema.def.innerType)
  if (schema instanceof z.ZodUnion)
    return schema.clone({ ...schema.def, options: schema.def.options.map(overridesOf) })
  if (schema instanceof z.ZodRecord)
    return z.record(schema.def.keyType, overridesOf(schema.def.valueType).nullable())
  // Notes belong to one schema: a copy has none yet.
  if (!(schema instanceof z.ZodObject)) return (schema as z.ZodType).clone()
  const fields = Object.entries(schema.def.shape).map(
    ([name, field]) => [name, overridesOf(field).nullish()] as const,
  )
  return z.strictObject(Object.fromEntries(fields))
}
