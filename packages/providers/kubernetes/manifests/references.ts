/** Places where objects name others, as data (docs/contracts/kubernetes.md#references). */
import { maybeObject } from '@fairlead/base/json/shape.ts'
import { fieldAt, fieldOf, isObject, type JsonObject, textOf } from '@fairlead/base/json/values.ts'
import { kindOfManifest, printKind } from '../kinds.ts'

/**
 * `bound`: follows the name of what is versioned. `named`: does not, because it cannot be versioned, or the place cannot change.
 * `written`: the object creates what it names.
 */
type ReferenceUse = 'bound' | 'named' | 'written'

export interface ReferenceRule {
  /** Kind of the object that has the place, such as `deployment` or `certificate.cert-manager.io`, in lower case. */
  readonly from: string
  /** Keys; `[]` is each entry of a list. */
  readonly path: readonly string[]
  /** Kind that is named: `secret`, `image`; `*` where the place says it itself. */
  readonly to: string
  readonly use: ReferenceUse
  /** Key beside the name that has its namespace. Default: `namespace`. */
  readonly namespaceKey?: string | undefined
}

/** A place in an object, and what stands there. */
export interface Reference {
  /** Such as `spec.template.spec.volumes[0].configMap.name`. */
  readonly path: string
  /** Printed kind: `configMap`. */
  readonly to: string
  readonly name: string
  /** Undefined: that of the object. */
  readonly namespace: string | undefined
  readonly isOptional: boolean
  readonly use: ReferenceUse
}

const template = 'Deployment ReplicaSet StatefulSet DaemonSet ReplicationController Job'

/** Where the kinds have the specification of a pod. */
const podPlaces: Readonly<Record<string, string>> = {
  spec: 'Pod',
  'spec.template.spec':
    `${template} Rollout.argoproj.io Service.serving.knative.dev Configuration.serving.knative.dev ` +
    'CloneSet.apps.kruise.io StatefulSet.apps.kruise.io DaemonSet.apps.kruise.io',
  'spec.jobTemplate.spec.template.spec': 'CronJob',
  'template.spec': 'PodTemplate',
  'spec.jobTargetRef.template.spec': 'ScaledJob.keda.sh',
}
const containerLists = ['containers', 'initContainers', 'ephemeralContainers']

interface PodRow {
  readonly to: string
  readonly use: ReferenceUse
  /** Below the specification of a pod; `C` is each of its containers. */
  readonly places: string
}

const podRows: readonly PodRow[] = [
  { to: 'image', use: 'bound', places: 'C.image volumes[].image.reference' },
  {
    to: 'ConfigMap',
    use: 'bound',
    places:
      'C.env[].valueFrom.configMapKeyRef.name C.envFrom[].configMapRef.name volumes[].configMap.name ' +
      'volumes[].projected.sources[].configMap.name',
  },
  {
    to: 'Secret',
    use: 'bound',
    places:
      'C.env[].valueFrom.secretKeyRef.name C.envFrom[].secretRef.name volumes[].secret.secretName ' +
      'volumes[].projected.sources[].secret.name imagePullSecrets[].name volumes[].csi.nodePublishSecretRef.name ' +
      'volumes[].flexVolume.secretRef.name volumes[].cephfs.secretRef.name volumes[].rbd.secretRef.name ' +
      'volumes[].iscsi.secretRef.name volumes[].scaleIO.secretRef.name volumes[].storageos.secretRef.name ' +
      'volumes[].azureFile.secretName',
  },
  { to: 'ServiceAccount', use: 'named', places: 'serviceAccountName' },
  {
    to: 'PersistentVolumeClaim',
    use: 'named',
    places: 'volumes[].persistentVolumeClaim.claimName',
  },
  { to: 'PriorityClass', use: 'named', places: 'priorityClassName' },
  { to: 'RuntimeClass', use: 'named', places: 'runtimeClassName' },
]

type Row = readonly [from: string, to: string, use: ReferenceUse, places: string]

const gateway = 'gateway.networking.k8s.io'
const nginx = (name: string) => `metadata.annotations.{nginx.ingress.kubernetes.io/${name}}`

const rows: readonly Row[] = [
  ['ServiceAccount', 'Secret', 'bound', 'imagePullSecrets[].name secrets[].name'],
  [
    'Ingress',
    'Secret',
    'bound',
    `spec.tls[].secretName ${nginx('auth-secret')} ${nginx('auth-tls-secret')} ${nginx('proxy-ssl-secret')}`,
  ],
  ['Ingress', 'ConfigMap', 'bound', nginx('fastcgi-params-configmap')],
  ['Ingress', 'IngressClass', 'named', 'spec.ingressClassName'],
  ['Ingress', 'Service', 'named', 'spec.rules[].http.paths[].backend.service.name'],
  [`Gateway.${gateway}`, 'Secret', 'bound', 'spec.listeners[].tls.certificateRefs[].name'],
  [`BackendTLSPolicy.${gateway}`, 'ConfigMap', 'bound', 'spec.validation.caCertificateRefs[].name'],
  [`Gateway.${gateway}`, `GatewayClass.${gateway}`, 'named', 'spec.gatewayClassName'],
  ['HorizontalPodAutoscaler ScaledObject.keda.sh', '*', 'bound', 'spec.scaleTargetRef.name'],
  ['VerticalPodAutoscaler.autoscaling.k8s.io', '*', 'bound', 'spec.targetRef.name'],
  ['Rollout.argoproj.io', '*', 'bound', 'spec.workloadRef.name'],
  ['RoleBinding ClusterRoleBinding', '*', 'named', 'subjects[].name roleRef.name'],
  ['StatefulSet', 'Service', 'named', 'spec.serviceName'],
  ['PersistentVolumeClaim', 'StorageClass', 'named', 'spec.storageClassName'],
  [
    'PersistentVolume',
    'Secret',
    'named',
    'spec.csi.nodePublishSecretRef.name spec.csi.nodeStageSecretRef.name spec.csi.controllerPublishSecretRef.name ' +
      'spec.csi.controllerExpandSecretRef.name spec.csi.nodeExpandSecretRef.name spec.azureFile.secretName',
  ],
  [
    'PersistentVolume',
    'Secret',
    'named',
    'spec.cephfs.secretRef.name spec.rbd.secretRef.name spec.iscsi.secretRef.name spec.flexVolume.secretRef.name ' +
      'spec.scaleIO.secretRef.name spec.storageos.secretRef.name',
  ],
  ['APIService', 'Service', 'named', 'spec.service.name'],
  [
    'ValidatingWebhookConfiguration MutatingWebhookConfiguration',
    'Service',
    'named',
    'webhooks[].clientConfig.service.name',
  ],
  [
    'CustomResourceDefinition',
    'Service',
    'named',
    'spec.conversion.webhook.clientConfig.service.name',
  ],
  ['Cluster.postgresql.cnpg.io', 'image', 'bound', 'spec.imageName'],
  [
    'Prometheus.monitoring.coreos.com Alertmanager.monitoring.coreos.com ThanosRuler.monitoring.coreos.com',
    'image',
    'bound',
    'spec.image',
  ],
  ['Kafka.kafka.strimzi.io', 'image', 'bound', 'spec.kafka.image'],
  ['KafkaConnect.kafka.strimzi.io', 'image', 'bound', 'spec.image'],
  ['Certificate.cert-manager.io', 'Secret', 'written', 'spec.secretName'],
  ['ExternalSecret.external-secrets.io', 'Secret', 'written', 'spec.target.name metadata.name'],
  ['SealedSecret.bitnami.com', 'Secret', 'written', 'spec.template.metadata.name metadata.name'],
]

const builtIn: ReadonlyMap<string, readonly ReferenceRule[]> = Map.groupBy(
  [...podRules(), ...rows.flatMap(toRules)],
  ({ from }) => from,
)

function podRules(): ReferenceRule[] {
  return Object.entries(podPlaces).flatMap(([root, kinds]) =>
    podRows.flatMap(({ to, use, places }) =>
      toRules([
        kinds,
        to,
        use,
        places
          .split(' ')
          .flatMap((place) =>
            place.startsWith('C.')
              ? containerLists.map((list) => `${root}.${list}[]${place.slice(1)}`)
              : [`${root}.${place}`],
          )
          .join(' '),
      ]),
    ),
  )
}

function toRules([kinds, to, use, places]: Row): ReferenceRule[] {
  return kinds
    .split(' ')
    .flatMap((from) => places.split(' ').map((path) => toReferenceRule({ from, path, to, use })))
}

/** @param path `spec.foo[].name`; a key with dots stands in braces */
export function toReferenceRule({
  from,
  path,
  to,
  use,
  namespaceKey,
}: Omit<ReferenceRule, 'path'> & { readonly path: string }): ReferenceRule {
  const keys = path.match(/\{[^}]*\}|\[\]|[^.[\]]+/g) ?? []
  return {
    from: from.toLowerCase(),
    path: keys.map((key) => (key.startsWith('{') ? key.slice(1, -1) : key)),
    to: to === '*' || to === 'image' ? to : printKind(splitKind(to)),
    use,
    namespaceKey,
  }
}

function splitKind(text: string) {
  const [kind = '', ...group] = text.split('.')
  return { kind, group: group.length === 0 ? undefined : group.join('.') }
}

function rulesOf(object: JsonObject, more: readonly ReferenceRule[]): readonly ReferenceRule[] {
  const kind = printKind(kindOfManifest(object)).toLowerCase()
  const own = more.filter(({ from }) => from === kind)
  return own.length === 0 ? (builtIn.get(kind) ?? []) : [...(builtIn.get(kind) ?? []), ...own]
}

const podPathByKind: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(podPlaces).flatMap(([path, kinds]) =>
    kinds.split(' ').map((kind) => [kind.toLowerCase(), path.split('.')] as const),
  ),
)

/** The specification of the pods of an object; undefined where it makes none. */
export function podSpecOf(object: JsonObject): JsonObject | undefined {
  const path = podPathByKind.get(printKind(kindOfManifest(object)).toLowerCase())
  return path && maybeObject(fieldAt(object, ...path))
}

/** @param more Rules of the account, besides those that are known */
export function referencesIn(object: JsonObject, more: readonly ReferenceRule[] = []): Reference[] {
  const found: Reference[] = []
  mapReferences(object, more, (reference) => {
    found.push(reference)
    return reference.name
  })
  return found
}

/** A copy in which names are replaced; the object itself where none is. */
export function mapReferences(
  object: JsonObject,
  more: readonly ReferenceRule[],
  replace: (reference: Reference) => string,
): JsonObject {
  return rulesOf(object, more).reduce<JsonObject>((changed, rule) => {
    const visit = (name: string, path: string, beside: JsonObject) => {
      const reference = toReference(rule, { name, path, beside })
      if (reference === undefined) return name
      const next = replace(reference)
      if (next === reference.name) return name
      return name === reference.name ? next : `${reference.namespace}/${next}`
    }
    return mapAt(changed, rule.path, visit) as JsonObject
  }, object)
}

interface Place {
  readonly name: string
  readonly path: string
  /** The object that has the name. */
  readonly beside: JsonObject
}

/** Undefined where it names another kind. */
function toReference(
  { to, use, namespaceKey = 'namespace' }: ReferenceRule,
  { name: written, path, beside }: Place,
): Reference | undefined {
  const isAnnotation = path.startsWith('metadata.annotations')
  const slash = isAnnotation ? written.indexOf('/') : -1
  const said = isAnnotation || to === 'image' ? undefined : kindBeside(beside)
  if (to !== '*' && said !== undefined && said.toLowerCase() !== to.toLowerCase()) return undefined
  const kind = to === '*' ? said : to
  if (kind === undefined) return undefined
  return {
    path,
    to: kind,
    name: written.slice(slash + 1),
    namespace:
      slash > 0
        ? written.slice(0, slash)
        : isAnnotation
          ? undefined
          : textOf(fieldOf(beside, namespaceKey)),
    isOptional: beside['optional'] === true,
    use,
  }
}

/** Kind that the reference names: `{kind, apiVersion or a group, name}`. */
function kindBeside(beside: JsonObject): string | undefined {
  const kind = textOf(beside['kind'])
  if (kind === undefined) return undefined
  const group = textOf(beside['apiGroup']) ?? textOf(beside['group'])
  const apiVersion = textOf(beside['apiVersion']) ?? (group === undefined ? 'v1' : `${group}/v1`)
  return printKind(kindOfManifest({ kind, apiVersion }))
}

type Visit = (name: string, path: string, beside: JsonObject) => string

function mapAt(
  value: unknown,
  [key, ...rest]: readonly string[],
  visit: Visit,
  path = '',
): unknown {
  if (key === '[]') {
    if (!Array.isArray(value)) return value
    const mapped = value.map((entry, index) => mapAt(entry, rest, visit, `${path}[${index}]`))
    return mapped.some((entry, index) => entry !== value[index]) ? mapped : value
  }
  if (key === undefined || !isObject(value) || !Object.hasOwn(value, key)) return value
  const inner = value[key]
  const place = path === '' ? key : `${path}.${key}`
  const text = textOf(inner)
  const mapped =
    rest.length > 0
      ? mapAt(inner, rest, visit, place)
      : text === undefined
        ? inner
        : visit(text, place, value)
  return mapped === inner ? value : { ...value, [key]: mapped }
}
