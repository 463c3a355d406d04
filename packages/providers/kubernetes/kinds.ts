/** Kinds of Kubernetes objects: spelling, group, and what they are to Spinnaker (docs/contracts/kubernetes.md#kinds). */
import { textOf } from '@fairlead/base/json/values.ts'

export const spinnakerKinds = [
  'instances',
  'configs',
  'serverGroups',
  'loadBalancers',
  'securityGroups',
  'serverGroupManagers',
  'unclassified',
] as const
export type SpinnakerKind = (typeof spinnakerKinds)[number]

export interface Kind {
  /** Spelling in answers: `replicaSet`, and `Widget.example.test` where it is not built in. */
  readonly name: string
  readonly spinnakerKind: SpinnakerKind
  readonly isNamespaced: boolean
  readonly isVersioned: boolean
  /** Smaller ones are deployed first. */
  readonly priority: number
}

/** `<kind>.<group>` as written; the group is undefined where it is built in or missing. */
export interface ParsedKind {
  readonly kind: string
  readonly group: string | undefined
}

const builtInGroups: ReadonlySet<string> = new Set([
  '',
  ...(
    'core batch apps extensions storage.k8s.io apiextensions.k8s.io apiregistration.k8s.io autoscaling ' +
    'admissionregistration.k8s.io policy scheduling.k8s.io settings.k8s.io authorization.k8s.io ' +
    'authentication.k8s.io rbac.authorization.k8s.io certificates.k8s.io networking.k8s.io'
  ).split(' '),
])

/** Numbers by which settings order custom resources, by the names that Spinnaker has for them. */
export const priorities: Readonly<Record<string, number>> = {
  namespace_priority: 0,
  resource_definition_priority: 10,
  storage_class_priority: 10,
  service_account_priority: 18,
  role_priority: 20,
  role_binding_priority: 30,
  mountable_data_priority: 50,
  mountable_data_backing_resource_priority: 55,
  network_resource_priority: 70,
  workload_modifier_priority: 90,
  pdb_priority: 90,
  workload_priority: 100,
  workload_controller_priority: 100,
  workload_attachment_priority: 110,
  api_service_priority: 130,
  admission_priority: 140,
  lowest_priority: 1000,
}

const customPriority = 1000

/** Groups in which objects are applied, each after what it needs; removal goes the other way. */
const applyOrder: readonly (readonly [priority: number, kinds: string])[] = [
  [0, 'Namespace'],
  [
    10,
    'CustomResourceDefinition PriorityClass StorageClass VolumeAttributesClass RuntimeClass.node.k8s.io IngressClass ' +
      'GatewayClass.gateway.networking.k8s.io CSIDriver DeviceClass.resource.k8s.io',
  ],
  [15, 'ResourceQuota LimitRange NetworkPolicy'],
  [18, 'ServiceAccount'],
  [20, 'Role ClusterRole'],
  [30, 'RoleBinding ClusterRoleBinding'],
  [50, 'Secret ConfigMap'],
  [55, 'PersistentVolume PersistentVolumeClaim'],
  [70, 'Service'],
  [90, 'PodDisruptionBudget PodPreset PodSecurityPolicy'],
  [100, 'Pod ReplicaSet ReplicationController StatefulSet DaemonSet Deployment'],
  [105, 'Job CronJob'],
  [110, 'HorizontalPodAutoscaler VerticalPodAutoscaler.autoscaling.k8s.io ScaledObject.keda.sh'],
  [
    120,
    'Ingress Gateway.gateway.networking.k8s.io HTTPRoute.gateway.networking.k8s.io GRPCRoute.gateway.networking.k8s.io ' +
      'TLSRoute.gateway.networking.k8s.io TCPRoute.gateway.networking.k8s.io',
  ],
  [130, 'APIService'],
  [
    140,
    'MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy ' +
      'ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding',
  ],
]

const priorityByKind: ReadonlyMap<string, number> = new Map(
  applyOrder.flatMap(([priority, kinds]) =>
    kinds.split(' ').map((kind) => [kind.toLowerCase(), priority] as const),
  ),
)

/** Custom resources come after all that may serve them, and the rest of the built-in kinds after these. */
function priorityOf({ kind, group }: ParsedKind): number {
  const known = priorityByKind.get((group === undefined ? kind : `${kind}.${group}`).toLowerCase())
  return known ?? (group === undefined ? customPriority + 10 : customPriority)
}

/** Objects of an earlier stage are gone before those of the next are deleted, since their finalizers need them. */
export function removalStage({ priority }: Pick<Kind, 'priority'>): number {
  if (priority === 130 || priority === 140) return 0
  if (priority === customPriority) return 1
  return priority > 10 ? 2 : priority > 0 ? 3 : 4
}

type Row = readonly [
  name: string,
  spinnakerKind: SpinnakerKind,
  scope: 'N' | 'C',
  aliases?: string,
  versioned?: 'V',
]

const rows: readonly Row[] = [
  ['namespace', 'unclassified', 'C', 'ns'],
  ['role', 'unclassified', 'N'],
  ['clusterRole', 'unclassified', 'C'],
  ['roleBinding', 'unclassified', 'N'],
  ['clusterRoleBinding', 'unclassified', 'C'],
  ['customResourceDefinition', 'unclassified', 'C', 'crd'],
  ['persistentVolume', 'configs', 'C', 'pv'],
  ['serviceAccount', 'unclassified', 'N', 'sa'],
  ['storageClass', 'unclassified', 'C', 'sc'],
  ['mutatingWebhookConfiguration', 'unclassified', 'C'],
  ['validatingWebhookConfiguration', 'unclassified', 'C'],
  ['configMap', 'configs', 'N', 'cm', 'V'],
  ['secret', 'configs', 'N', '', 'V'],
  ['persistentVolumeClaim', 'configs', 'N', 'pvc'],
  ['service', 'loadBalancers', 'N', 'svc'],
  ['ingress', 'loadBalancers', 'N', 'ing'],
  ['networkPolicy', 'securityGroups', 'N', 'netpol'],
  ['apiService', 'unclassified', 'C'],
  ['limitRange', 'unclassified', 'N'],
  ['podDisruptionBudget', 'unclassified', 'N', 'pdb'],
  ['podPreset', 'unclassified', 'N'],
  ['podSecurityPolicy', 'unclassified', 'C'],
  ['pod', 'instances', 'N', 'po', 'V'],
  ['replicaSet', 'serverGroups', 'N', 'rs', 'V'],
  ['statefulSet', 'serverGroups', 'N', 'sts'],
  ['daemonSet', 'serverGroups', 'N', 'ds'],
  ['job', 'serverGroups', 'N'],
  ['cronJob', 'serverGroups', 'N'],
  ['deployment', 'serverGroupManagers', 'N', 'deploy'],
  ['horizontalpodautoscaler', 'unclassified', 'N', 'hpa'],
  ['controllerRevision', 'unclassified', 'N'],
  ['event', 'unclassified', 'N'],
]

export const builtInKinds: readonly Kind[] = rows.map(
  ([name, spinnakerKind, scope, , versioned]) => ({
    name,
    spinnakerKind,
    isNamespaced: scope === 'N',
    isVersioned: versioned === 'V',
    priority: priorityOf({ kind: name, group: undefined }),
  }),
)

const builtInByName: ReadonlyMap<string, Kind> = new Map(
  rows.flatMap(([name, , , alias = ''], index) => {
    const kind = builtInKinds[index] as Kind
    return [name.toLowerCase(), ...(alias === '' ? [] : [alias])].map(
      (each) => [each, kind] as const,
    )
  }),
)

/** Without regard to case; the group of built-in kinds does not count. */
export function parseKind(text: string): ParsedKind {
  const dot = text.indexOf('.')
  if (dot < 0) return { kind: text, group: undefined }
  const group = text.slice(dot + 1)
  return { kind: text.slice(0, dot), group: isBuiltInGroup(group) ? undefined : group }
}

export function isBuiltInGroup(group: string): boolean {
  return builtInGroups.has(group.toLowerCase())
}

export function kindOfManifest({
  kind,
  apiVersion,
}: {
  readonly kind?: unknown
  readonly apiVersion?: unknown
}): ParsedKind {
  const [group = '', version] = (textOf(apiVersion) ?? '').split('/')
  return {
    kind: textOf(kind) ?? '',
    group: version === undefined || isBuiltInGroup(group) ? undefined : group,
  }
}

/** A kind of 2.1 by name or alias; undefined for others, and for a kind of that name in a group of its own. */
export function builtInKind({ kind, group }: ParsedKind): Kind | undefined {
  return group === undefined ? builtInByName.get(kind.toLowerCase()) : undefined
}

/** The kinds of an account: built-in ones, those that its settings name, and whatever else the API server serves. */
export class KindTable {
  readonly #custom: ReadonlyMap<string, Kind>

  /** @param custom Their names are as configured, `Widget.example.test` */
  constructor(custom: readonly Kind[]) {
    this.#custom = new Map(custom.map((kind) => [kind.name.toLowerCase(), kind]))
  }

  /** @param isNamespaced What the API server says of a kind that is neither built in nor configured */
  kindOf(parsed: ParsedKind, isNamespaced = true): Kind {
    const name = printKind(parsed)
    return (
      this.#custom.get(name.toLowerCase()) ??
      builtInKind(parsed) ?? {
        name,
        spinnakerKind: 'unclassified',
        isNamespaced,
        isVersioned: false,
        priority: priorityOf(parsed),
      }
    )
  }

  get custom(): readonly Kind[] {
    return [...this.#custom.values()]
  }
}

export function printKind({ kind, group }: ParsedKind): string {
  return group === undefined ? (builtInKind({ kind, group })?.name ?? kind) : `${kind}.${group}`
}

export interface FullName extends ParsedKind {
  readonly name: string
}

/** Undefined unless it has exactly two parts. */
export function parseFullName(text: string): FullName | undefined {
  const [kind, name, ...more] = text.split(' ')
  if (!kind || !name || more.length > 0 || !isPathName(name)) return undefined
  return { ...parseKind(kind), name }
}

export function formatFullName(kind: Pick<Kind, 'name'>, name: string): string {
  return `${kind.name} ${name}`
}

/** Whether an object can have the name: the API server decodes paths, so that a slash would lead to another resource. */
export function isPathName(name: string): boolean {
  return !/[/%]/.test(name)
}
