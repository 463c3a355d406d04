/** The first deployment of a new installation: a small web program, with all that belongs to it, in one step. */

import type { JsonObject } from '@fairlead/base/json/values.ts'
import { useState } from 'preact/hooks'
import { to, useNavigate } from '../address.ts'
import { type Change, completeTask, objectKey } from '../api/actions.ts'
import { client } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { user } from '../api/session.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { decimal, TextField } from '../components/form-fields.tsx'
import { startPipeline } from './start-dialog.tsx'

/** The application of every example. */
const application = 'hello'

/** What is deployed to a provider; the reader chooses one value, such as a port. */
interface Example {
  readonly title: string
  /** What is made, and what can be done with it. */
  readonly about: (value: string) => string
  readonly field: Pick<
    Parameters<typeof TextField>[0],
    'label' | 'value' | 'help' | 'suggestions' | 'input'
  >
  readonly errorOf: (value: string) => string | undefined
  readonly provider: string
  /** The first one is deployed. */
  readonly versions: readonly [string, string]
  /** Makes what the pipeline needs; each step may have been done before. */
  readonly prepare?: (value: string) => Promise<void>
  readonly pipeline: {
    readonly name: string
    readonly description: string
    readonly stage: (value: string) => JsonObject
  }
}

export function DeployExample({ example }: { example: Example }) {
  const { title, about, field, errorOf } = example
  const navigate = useNavigate()
  const [value, setValue] = useState(field.value)
  const error = errorOf(value)
  return (
    <FormDialog
      title={title}
      action="Deploy the example"
      isReady={error === undefined}
      run={() => deploy(example, value)}
      onDone={(execution) => navigate(to.execution(execution))}
    >
      <p>{about(value)}</p>
      <TextField {...field} value={value} error={error} required onChange={setValue} />
    </FormDialog>
  )
}

/** @returns the id of the execution @throws {ApiError} */
async function deploy({ provider, versions, prepare, pipeline }: Example, value: string) {
  const email = user.value?.email ?? `${user.value?.username ?? 'owner'}@localhost`
  const attributes = { name: application, email, cloudProviders: provider }
  await complete('application', application, { type: 'createApplication', application: attributes })
  await prepare?.(value)
  const { name, description, stage } = pipeline
  const options = versions.map((version) => ({ value: version }))
  const definition = {
    application,
    name,
    description,
    parameterConfig: [
      {
        name: 'version',
        label: 'Version',
        required: true,
        default: versions[0],
        hasOptions: true,
        options,
      },
    ],
    stages: [{ refId: '1', requisiteStageRefIds: [], name: 'Deploy', ...stage(value) }],
    triggers: [],
  }
  const params = { path: { application } }
  const find = async () =>
    (await client.GET('/applications/{application}/pipelineConfigs', { params })).find(
      (saved) => saved.name === name,
    )
  const known = await find()
  if (known === undefined) await client.POST('/pipelines', { body: definition as never })
  refreshMatching('/applications')
  return startPipeline(known ?? (await find()) ?? definition, { version: versions[0] }, false)
}

function complete(kind: string, name: string, job: Change['job'][number]) {
  return completeTask({
    application,
    description: `Create ${name}`,
    job: [job],
    object: objectKey(kind, name),
  })
}

const balancer = 'hello-front'
const versions = ['1', '2'] as const
/** The port of the program behind its load balancer. */
const internalPort = 8080

type ImagePlace = Readonly<Record<'provider' | 'imagesPath' | 'account' | 'region', string>>

/** For an account that takes uploaded images. */
export function imageExample({ provider, imagesPath, account, region }: ImagePlace): Example {
  const front = { cloudProvider: provider, credentials: account, account, region, name: balancer }
  const cluster = {
    cloudProvider: provider,
    account,
    region,
    application,
    imageId: `${application}:\${parameters.version}`,
  }
  const capacity = { min: 2, max: 2, desired: 2 }
  return {
    title: 'Deploy the example?',
    about: () =>
      `Fairlead deploys a small web program to this machine: the application ${application} with two images, a load balancer, and a pipeline. Start the pipeline again with version 2 to see it replace version 1 without a lost request.`,
    field: {
      label: 'Port of the load balancer',
      value: '8080',
      help: 'It must be free on this machine.',
      input: decimal,
    },
    errorOf: (port) =>
      /^\d+$/.test(port) && Number(port) > 0 && Number(port) < 65_536
        ? undefined
        : 'Enter a number from 1 to 65535.',
    provider,
    versions,
    prepare: async (port) => {
      for (const version of versions) await upload(imagesPath, version)
      const listener = {
        externalProtocol: 'HTTP',
        externalPort: Number(port),
        internalProtocol: 'HTTP',
        internalPort,
      }
      const changes = { ...front, healthCheck: `HTTP:${internalPort}/`, listeners: [listener] }
      await complete('loadBalancer', balancer, { type: 'upsertLoadBalancer', ...changes })
    },
    pipeline: {
      name: 'ship',
      description: 'Deploys the example program. Start it with version 2 to replace version 1.',
      stage: () => ({
        type: 'deploy',
        clusters: [{ ...cluster, capacity, loadBalancers: [balancer], strategy: 'redblack' }],
      }),
    },
  }
}

const clusterImage = 'registry.k8s.io/e2e-test-images/agnhost'

/** An account that takes manifests. */
interface ManifestPlace {
  readonly provider: string
  readonly label: string
  readonly account: string
  readonly namespaces: readonly string[]
}

export function manifestExample({ provider, label, account, namespaces }: ManifestPlace): Example {
  const usual = namespaces.includes('default') ? 'default' : (namespaces[0] ?? 'default')
  const help = `The cluster needs to be able to pull ${clusterImage}.`
  const place = { cloudProvider: provider, account, source: 'text', moniker: { app: application } }
  return {
    title: `Deploy the example to ${label}?`,
    about: (namespace) =>
      `Fairlead deploys a small web program to the namespace ${namespace} of the account ${account}: the application ${application} with a pipeline that deploys two manifests and shows the plan of each run. Start it again with the other version to see the pods replaced.`,
    field: { label: 'Namespace', value: usual, help, suggestions: namespaces },
    errorOf: (namespace) => (namespace.trim() === '' ? 'Enter a namespace.' : undefined),
    provider,
    versions: ['2.53', '2.52'],
    pipeline: {
      name: 'ship manifests',
      description:
        'Deploys the example program from its manifests. Start it with another version to replace the pods.',
      stage: (namespace) => ({
        type: 'deployManifest',
        ...place,
        plan: true,
        manifests: manifestsIn(namespace.trim()),
      }),
    },
  }
}

function manifestsIn(namespace: string) {
  const labels = { app: application }
  const metadata = { name: application, namespace, labels }
  const container = {
    name: 'main',
    image: `${clusterImage}:\${parameters.version}`,
    args: ['netexec', `--http-port=${internalPort}`],
    ports: [{ name: 'http', containerPort: internalPort }],
    readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 2 },
  }
  const template = { metadata: { labels }, spec: { containers: [container] } }
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }]
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: { replicas: 2, selector: { matchLabels: labels }, template },
    },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports } },
  ]
}

async function upload(imagesPath: string, version: string) {
  const put = client.PUT as (path: string, init: object) => Promise<unknown>
  await put(`${imagesPath}/{name}/{version}`, {
    params: { path: { name: application, version } },
    headers: { 'Content-Type': 'application/x-tar' },
    body: toTar({
      'fairlead-image.yml': 'command: [node, server.mjs]\nready: { path: / }\n',
      'server.mjs': program(version),
    }),
    bodySerializer: (body: unknown) => body,
  })
}

function program(version: string) {
  return `/** Says its version and which instance answers, and stops when it is told to. */
import { createServer } from 'node:http'

const server = createServer((_request, response) => {
  response.end('Hello from version ${version}, port ' + process.env.PORT + '.\\n')
})
server.listen(Number(process.env.PORT), process.env.HOST, () => console.log('version ${version} listens on port ' + process.env.PORT))
process.on('SIGTERM', () => server.close())
`
}

/** An archive of ASCII files without a time of their own, so the same files make the same bytes. @see POSIX.1-1988, ustar */
function toTar(files: Readonly<Record<string, string>>) {
  const toBlocks = (text: string) => text.padEnd(Math.ceil(text.length / 512) * 512, '\0')
  const entries = Object.entries(files).map(
    ([name, content]) => toBlocks(tarHeader(name, content.length)) + toBlocks(content),
  )
  return entries.join('') + '\0'.repeat(1024)
}

function tarHeader(name: string, length: number) {
  const octal = (value: number, digits: number) => `${value.toString(8).padStart(digits, '0')}\0`
  const owner = octal(0, 7)
  const before =
    name.padEnd(100, '\0') + octal(0o644, 7) + owner + owner + octal(length, 11) + octal(0, 11)
  const after = `0${'\0'.repeat(100)}ustar\x0000`
  // The sum is computed with blanks in its own place.
  const sum = [...`${before}${' '.repeat(8)}${after}`].reduce(
    (all, character) => all + character.charCodeAt(0),
    0,
  )
  return `${before}${octal(sum, 6)} ${after}`
}
