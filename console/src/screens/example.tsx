/** The first deployment of a new installation: a small web program, with all that belongs to it, in one step. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { type Change, completeTask, objectKey } from '../api/actions.ts'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { user } from '../api/session.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import { toTar } from '../model/tar.ts'
import { startPipeline } from './start-dialog.tsx'

const application = 'hello'
const balancer = 'hello-front'
const pipelineName = 'ship'
const usualPort = '8080'
const versions = ['1', '2'] as const
/** What the program listens on behind its load balancer. */
const innerPort = 8080

/** Where the example is deployed: to a provider that takes uploaded images. */
export interface ExamplePlace {
  readonly provider: string
  readonly imagesPath: string
  readonly account: string
  readonly region: string
}

export function DeployExample({ place }: { place: ExamplePlace }) {
  const { route: navigate } = useLocation()
  const [port, setPort] = useState(usualPort)
  const isPort = /^\d{1,5}$/.test(port) && Number(port) > 0 && Number(port) < 65_536
  const run = async (isOpen: () => boolean) => {
    const execution = await deploy(place, Number(port))
    if (isOpen()) navigate(to.execution(execution))
    return undefined
  }
  return (
    <FormDialog title="Deploy the example?" action="Deploy the example" isReady={isPort} run={run}>
      <p>{`Fairlead deploys a small web program to this machine. It creates the application ${application} with:`}</p>
      <ul class="bullets">
        {[
          `two images of the program, ${application}:1 and ${application}:2;`,
          `a load balancer, ${balancer}, which answers on a port of this machine;`,
          `a pipeline, ${pipelineName}, which is started with version 1.`,
        ].map((part) => (
          <li key={part}>{part}</li>
        ))}
      </ul>
      <p class="muted">{`Start the pipeline again with version 2 to see it replace version 1 without a lost request. To remove everything, destroy the server groups, then delete ${application} in its settings.`}</p>
      <TextField
        label="Port of the load balancer"
        value={port}
        help="It must be free on this machine."
        error={isPort ? undefined : 'Enter a number from 1 to 65535.'}
        required
        numeric
        onChange={setPort}
      />
    </FormDialog>
  )
}

/** Each step may have been done before. @returns the id of the execution @throws {ApiError} */
async function deploy(place: ExamplePlace, port: number): Promise<string> {
  for (const version of versions) await upload(place, version)
  await complete('application', application, {
    type: 'createApplication',
    application: {
      name: application,
      email: user.value?.email ?? `${user.value?.username ?? 'owner'}@localhost`,
      cloudProviders: place.provider,
    },
  })
  await complete('loadBalancer', balancer, {
    type: 'upsertLoadBalancer',
    cloudProvider: place.provider,
    credentials: place.account,
    account: place.account,
    region: place.region,
    name: balancer,
    healthCheck: `HTTP:${innerPort}/`,
    listeners: [{ externalProtocol: 'HTTP', externalPort: port, internalProtocol: 'HTTP', internalPort: innerPort }],
  })
  const pipeline = await savePipeline(place, port)
  refreshMatching('/applications')
  return startPipeline(pipeline, { version: versions[0] }, false)
}

function complete(kind: string, name: string, job: Change['job'][number]): Promise<void> {
  return completeTask({ application, description: `Create ${name}`, job: [job], object: objectKey(kind, name) })
}

async function upload({ imagesPath }: ExamplePlace, version: string): Promise<void> {
  const files = [
    { name: 'fairlead-image.yml', content: 'command: [node, server.mjs]\nready: { path: / }\n' },
    { name: 'server.mjs', content: program(version) },
  ]
  await unwrap(
    (client.PUT as UntypedPut)(`${imagesPath}/{name}/{version}`, {
      params: { path: { name: application, version } },
      headers: { ...actionHeaders, 'Content-Type': 'application/x-tar' },
      body: toTar(files),
      bodySerializer: (body) => body,
    }),
  )
}

type UntypedPut = (
  path: string,
  init: {
    readonly params: unknown
    readonly headers: Readonly<Record<string, string>>
    readonly body: Uint8Array
    readonly bodySerializer: (body: unknown) => unknown
  },
) => Promise<{ data?: unknown; response: Response; error?: unknown }>

function program(version: string): string {
  return `/** Says its version and which instance answers, and stops when it is told to. */
import { createServer } from 'node:http'

const server = createServer((_request, response) => {
  response.end('Hello from version ${version}, port ' + process.env.PORT + '.\\n')
})
server.listen(Number(process.env.PORT), process.env.HOST, () => console.log('version ${version} listens on port ' + process.env.PORT))
process.on('SIGTERM', () => server.close())
`
}

async function savePipeline(place: ExamplePlace, port: number): Promise<Schemas['Pipeline']> {
  const cluster = {
    cloudProvider: place.provider,
    account: place.account,
    region: place.region,
    application,
    imageId: `${application}:\${parameters.version}`,
    capacity: { min: 2, max: 2, desired: 2 },
    loadBalancers: [balancer],
    strategy: 'redblack',
  }
  const read = () =>
    unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } })).then((all) =>
      all.find(({ name }) => name === pipelineName),
    )
  const known = await read()
  if (known !== undefined) return known
  const pipeline = {
    application,
    name: pipelineName,
    description: `Deploys the example program, which answers at http://localhost:${port}/. Start it with version 2 to replace version 1.`,
    parameterConfig: [
      {
        name: 'version',
        label: 'Version',
        required: true,
        default: versions[0],
        hasOptions: true,
        options: versions.map((value) => ({ value })),
      },
    ],
    stages: [{ refId: '1', requisiteStageRefIds: [], type: 'deploy', name: 'Deploy', clusters: [cluster] }],
    triggers: [],
  }
  await unwrap(client.POST('/pipelines', { headers: actionHeaders, body: pipeline as never }))
  return (await read()) ?? pipeline
}
