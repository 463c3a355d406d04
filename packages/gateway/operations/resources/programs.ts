/** Programs of an application's instances: their logs, and what clients run in them. */
import { integer, maybeText, textModel } from '@fairlead/base/json/schemas.ts'
import { pathTo } from '@fairlead/base/net/encode-path.ts'
import { z } from 'zod'
import { get, post } from '../declare.ts'
import { readsApplication, writesApplication } from '../demands.ts'
import { linesType, type Operation, type OperationRequest } from '../operation.ts'
import { checkObject } from '../upstream-shape.ts'
import { usernameOf } from './caller.ts'

const maxNameLength = 100

const Place = {
  environment: z
    .string()
    .optional()
    .describe('All unless given; `production` is the one whose clusters do not name it.'),
  service: z.string().optional().describe('Name of a service or of a cluster; all unless given.'),
}
const Terminal = z.looseObject({ rows: z.int(), columns: z.int() })
const Command = z.array(z.string()).describe('The program and its arguments.')

const ExecBody = z.looseObject({
  ...Place,
  instance: z.string().optional().describe('By default the oldest that is ready.'),
  command: Command.optional(),
  terminal: Terminal.optional().describe('Size of the terminal; without one, streams are pipes.'),
})
const RunBody = z.looseObject({
  ...Place,
  command: Command,
  terminal: Terminal.optional(),
  timeoutSeconds: z.int().optional(),
  detach: z.boolean().optional().describe('As a run of its own, which goes on without its client.'),
})
const InputBody = z.looseObject({
  stdin: z.string().optional().describe('Bytes in base64.'),
  end: z.literal(true).optional().describe('Ends the input.'),
  resize: Terminal.optional(),
  signal: z.string().optional().describe('Name of a signal, such as `SIGINT`.'),
})

const Session = z.looseObject({
  id: z.string().describe('Of the session, known to this client alone.'),
  instance: z.string(),
  account: z.string(),
  region: z.string(),
})
const noInstance = {
  404: 'No instance of the application runs that the user may read.',
  429: 'Too many programs run for clients at once.',
}

export const programOperations: Operation[] = [
  get('getAppLogs', '/apps/{application}/logs', 'Read or follow logs', {
    demands: readsApplication,
    shared: 'never',
    description:
      'Output of the instances of an application, a JSON object in each line with `at`, `instance`, `cluster`, `position` and `text`; ' +
      'a line above 64 KiB is cut and has `cut`. Empty lines are signs of life. With `follow`, the stream goes on over deployments: ' +
      'instances that start are added, and those that end are read to their end. Values of secrets are masked.',
    query: {
      environment: maybeText.describe(
        'All unless given; `production` is the one whose clusters do not name it.',
      ),
      service: maybeText.describe('Name of a service or of a cluster; all unless given.'),
      instance: maybeText.describe('Id of one instance.'),
      since: maybeText.describe('A time, or how long ago: `5m`.'),
      until: maybeText.describe('The same, for the end.'),
      tail: integer.optional().describe('Last lines of all instances together; all unless given.'),
      grep: maybeText.describe('Regular expression that a line has to match somewhere.'),
      previous: maybeText.describe('`true`: of the run before the last restart of an instance.'),
      follow: maybeText.describe('`true`: the stream goes on until the client ends it.'),
    },
    forward: 'clouddriver /apps/{application}/logs',
    answer: z.unknown(),
    answerType: linesType,
    errors: { 400: 'A parameter has the wrong form.', 404: noInstance[404] },
  }),
  post('execInApp', '/apps/{application}/exec', 'Run a program in an instance', {
    demands: writesApplication,
    description:
      'Starts a program beside that of an instance: with its user, variables, working directory and limits. It ends when no client reads ' +
      'its output, within 30 seconds at first. Needs WRITE on the account of the instance, too. The audit log has the command.',
    body: ExecBody,
    // The body is read, so that the audit log has the command.
    handle: ({ path, body, json }) =>
      json('clouddriver', {
        method: 'POST',
        path: pathTo`/apps/${textModel.parse(path['application'])}/exec`,
        body,
      }),
    answer: Session,
    errors: noInstance,
  }),
  post('runInApp', '/apps/{application}/run', 'Run a command once', {
    demands: writesApplication,
    description:
      'Runs a command once as the serving version runs: with its image, variables, secrets, limits and shared volumes. Without `detach` ' +
      'it is a session like that of `exec`, and what it runs in is removed with it. With `detach` it is a run with a stage `runJob`.',
    body: RunBody,
    handle: run,
    answer: z.union([Session, z.looseObject({ ref: z.string() })]),
    errors: noInstance,
  }),
  get(
    'readAppSession',
    '/apps/{application}/sessions/{session}/output',
    'Read the output of a program',
    {
      demands: writesApplication,
      shared: 'never',
      description:
        'What a program writes that the caller runs, a JSON object in each line with `stdout` or `stderr`, bytes in base64; the last one ' +
        'has `exit`, as a shell reports it. Empty lines and objects are signs of life. Values of secrets are masked. The program ends ' +
        'when its client stops reading.',
      forward: 'clouddriver /apps/{application}/sessions/{session}/output',
      answer: z.unknown(),
      answerType: linesType,
      errors: { 404: 'It has ended.', 409: 'Its output is read already.' },
    },
  ),
  post(
    'writeAppSession',
    '/apps/{application}/sessions/{session}/input',
    'Send input to a program',
    {
      demands: writesApplication,
      // Bytes of input are not recorded: the record of the start has the command. A terminal sends one for each key.
      isUnrecorded: true,
      cost: 0,
      description:
        'Input of a program that the caller runs: bytes, the end of the input, the size of the terminal, or a signal. An answer comes when ' +
        'more can be taken.',
      body: InputBody,
      forward: 'clouddriver /apps/{application}/sessions/{session}/input',
      answer: z.looseObject({}),
      errors: { 404: 'It has ended.' },
    },
  ),
]

async function run(request: OperationRequest): Promise<unknown> {
  const application = textModel.parse(request.path['application'])
  const { detach, ...body } = request.body as z.output<typeof RunBody>
  const path = pathTo`/apps/${application}/run`
  if (detach !== true) return request.json('clouddriver', { method: 'POST', path, body })
  const stage = await request.json('clouddriver', { method: 'POST', path: `${path}/stage`, body })
  const user = usernameOf(request)
  const name = `run ${body.command.join(' ')}`.slice(0, maxNameLength)
  const given = checkObject(stage, 'clouddriver')
  const stages = [{ refId: '1', requisiteStageRefIds: [], name, ...given, application }]
  return request.json('orca', {
    method: 'POST',
    path: '/orchestrate',
    query: { user },
    body: { application, name, stages, trigger: { type: 'manual', user } },
  })
}
