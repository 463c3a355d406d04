/** The first deployment to a cluster: a small web program from its manifests, with a pipeline that deploys them. */
import { useState } from 'preact/hooks'
import { useLocation } from 'preact-iso/router'
import { to } from '../address.ts'
import { completeTask, objectKey } from '../api/actions.ts'
import { actionHeaders, client, type Schemas, unwrap } from '../api/client.ts'
import { refreshMatching } from '../api/live.ts'
import { user } from '../api/session.ts'
import { FormDialog } from '../components/form-dialog.tsx'
import { TextField } from '../components/form-fields.tsx'
import { startPipeline } from '../screens/start-dialog.tsx'

const application = 'hello'
const pipelineName = 'ship manifests'
const image = 'registry.k8s.io/e2e-test-images/agnhost'
const versions = ['2.53', '2.52'] as const
const port = 8080

export interface ManifestExamplePlace {
  readonly provider: string
  readonly label: string
  readonly account: string
  /** Those of the account that are known. */
  readonly namespaces: readonly string[]
}

export function DeployManifestExample({ place }: { place: ManifestExamplePlace }) {
  const { route: navigate } = useLocation()
  const { label, account, namespaces } = place
  const [namespace, setNamespace] = useState(namespaces.includes('default') ? 'default' : (namespaces[0] ?? 'default'))
  const run = async (isOpen: () => boolean) => {
    const execution = await deploy(place, namespace.trim())
    if (isOpen()) navigate(to.execution(execution))
    return undefined
  }
  const isNamed = namespace.trim() !== ''
  return (
    <FormDialog title={`Deploy the example to ${label}?`} action="Deploy the example" isReady={isNamed} run={run}>
      <p>{`Fairlead deploys a small web program to the namespace ${namespace} of the account ${account}. It creates the application ${application} with:`}</p>
      <ul class="bullets">
        {[
          `a pipeline, ${pipelineName}, which deploys two manifests and shows the plan of each run;`,
          'a deployment of two pods, and a service in front of them.',
        ].map((part) => (
          <li key={part}>{part}</li>
        ))}
      </ul>
      <p class="muted">
        Start the pipeline again with the other version to see the pods replaced. To remove everything, delete the deployment and
        the service, then the application in its settings.
      </p>
      <TextField
        label="Namespace"
        value={namespace}
        help={`The cluster needs to be able to pull ${`${image}:${versions[0]}`}.`}
        suggestions={namespaces}
        required
        onChange={setNamespace}
      />
    </FormDialog>
  )
}

/** Each step may have been done before. @returns the id of the execution @throws {ApiError} */
async function deploy(place: ManifestExamplePlace, namespace: string): Promise<string> {
  await completeTask({
    application,
    description: `Create ${application}`,
    job: [
      {
        type: 'createApplication',
        application: {
          name: application,
          email: user.value?.email ?? `${user.value?.username ?? 'owner'}@localhost`,
          cloudProviders: place.provider,
        },
      },
    ],
    object: objectKey('application', application),
  })
  const pipeline = await savePipeline(place, namespace)
  refreshMatching('/applications')
  return startPipeline(pipeline, { version: versions[0] }, false)
}

async function savePipeline({ provider, account }: ManifestExamplePlace, namespace: string): Promise<Schemas['Pipeline']> {
  const read = () =>
    unwrap(client.GET('/applications/{application}/pipelineConfigs', { params: { path: { application } } })).then((all) =>
      all.find(({ name }) => name === pipelineName),
    )
  const known = await read()
  if (known !== undefined) return known
  const stage = {
    refId: '1',
    requisiteStageRefIds: [],
    type: 'deployManifest',
    name: 'Deploy',
    cloudProvider: provider,
    account,
    source: 'text',
    moniker: { app: application },
    plan: true,
    manifests: manifestsIn(namespace),
  }
  const pipeline = {
    application,
    name: pipelineName,
    description: 'Deploys the example program from its manifests. Start it with another version to replace the pods.',
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
    stages: [stage],
    triggers: [],
  }
  await unwrap(client.POST('/pipelines', { headers: actionHeaders, body: pipeline as never }))
  return (await read()) ?? pipeline
}

function manifestsIn(namespace: string): readonly unknown[] {
  const labels = { app: application }
  const metadata = { name: application, namespace, labels }
  const container = {
    name: 'main',
    image: `${image}:\${parameters.version}`,
    args: ['netexec', `--http-port=${port}`],
    ports: [{ name: 'http', containerPort: port }],
    readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 2 },
  }
  return [
    {
      apiVersion: 'apps/v1',
      kind: 'Deployment',
      metadata,
      spec: {
        replicas: 2,
        selector: { matchLabels: labels },
        template: { metadata: { labels }, spec: { containers: [container] } },
      },
    },
    {
      apiVersion: 'v1',
      kind: 'Service',
      metadata,
      spec: { selector: labels, ports: [{ name: 'http', port: 80, targetPort: 'http' }] },
    },
  ]
}
