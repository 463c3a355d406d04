/** The example for a cluster: a small web program from its manifests. */
import { application, type Example } from '../screens/example.tsx'

const image = 'registry.k8s.io/e2e-test-images/agnhost'

interface ManifestPlace {
  readonly provider: string
  readonly label: string
  readonly account: string
  /** Those of the account that are known. */
  readonly namespaces: readonly string[]
}

export function manifestExample({ provider, label, account, namespaces }: ManifestPlace): Example {
  const usual = namespaces.includes('default') ? 'default' : (namespaces[0] ?? 'default')
  const help = `The cluster needs to be able to pull ${image}.`
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
      description: 'Deploys the example program from its manifests. Start it with another version to replace the pods.',
      stage: (namespace) => ({ type: 'deployManifest', ...place, plan: true, manifests: manifestsIn(namespace.trim()) }),
    },
  }
}

function manifestsIn(namespace: string): readonly unknown[] {
  const labels = { app: application }
  const metadata = { name: application, namespace, labels }
  const container = {
    name: 'main',
    image: `${image}:\${parameters.version}`,
    args: ['netexec', '--http-port=8080'],
    ports: [{ name: 'http', containerPort: 8080 }],
    readinessProbe: { httpGet: { path: '/healthz', port: 'http' }, periodSeconds: 2 },
  }
  const template = { metadata: { labels }, spec: { containers: [container] } }
  const ports = [{ name: 'http', port: 80, targetPort: 'http' }]
  return [
    { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec: { replicas: 2, selector: { matchLabels: labels }, template } },
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { selector: labels, ports } },
  ]
}
