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
  /** As answers spell it: `replicaSet`, and `Widget.example.test` where it is not built in. */
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

export const priorities: Readonly<Record<string, number>> = {
  namespace_priority: 0,
  role_priority: 20,
  role_binding_priority: 30,
  resource_definition_priority: 30,
  mountable_data_backing_resource_priority: 40,
  service_account_priority: 40,
  storage_class_priority: 40,
  admission_priority: 40,
  mountable_data_priority: 50,
  network_resource_priority: 70,
  api_service_priority: 80,
  workload_modifier_priority: 90,
  pdb_priority: 90,
  workload_priority: 100,
  workload_controller_priority: 100,
  workload_attachment_priority: 110,
  lowest_priority: 1000,
}

type Row = readonly [
  name: string,
  spinnakerKind: SpinnakerKind,
  scope: 'N' | 'C',
  priority: number,
  aliases?: string,
  versioned?: 'V',
]

const rows: readonly Row[] = [
  ['namespace', 'unclassified', 'C', 0, 'ns'],
  ['role', 'unclassified', 'N', 20],
  ['clusterRole', 'unclassified', 'C', 20],
  ['roleBinding', 'unclassified', 'N', 30],
  ['clusterRoleBinding', 'unclassified', 'C', 30],
  ['customResourceDefinition', 'unclassified', 'C', 30, 'crd'],
  ['persistentVolume', 'configs', 'C', 40, 'pv'],
  ['serviceAccount', 'unclassified', 'N', 40, 'sa'],
  ['storageClass', 'unclassified', 'C', 40, 'sc'],
  ['mutatingWebhookConfiguration', 'unclassified', 'C', 40],
  ['validatingWebhookConfiguration', 'unclassified', 'C', 40],
  ['configMap', 'configs', 'N', 50, 'cm', 'V'],
  ['secret', 'configs', 'N', 50, '', 'V'],
  ['persistentVolumeClaim', 'configs', 'N', 50, 'pvc'],
  ['service', 'loadBalancers', 'N', 70, 'svc'],
  ['ingress', 'loadBalancers', 'N', 70, 'ing'],
  ['networkPolicy', 'securityGroups', 'N', 70, 'netpol'],
  ['apiService', 'unclassified', 'C', 80],
  ['limitRange', 'unclassified', 'N', 90],
  ['podDisruptionBudget', 'unclassified', 'N', 90, 'pdb'],
  ['podPreset', 'unclassified', 'N', 90],
  ['podSecurityPolicy', 'unclassified', 'C', 90],
  ['pod', 'instances', 'N', 100, 'po', 'V'],
  ['replicaSet', 'serverGroups', 'N', 100, 'rs', 'V'],
  ['statefulSet', 'serverGroups', 'N', 100, 'sts'],
  ['daemonSet', 'serverGroups', 'N', 100, 'ds'],
  ['job', 'serverGroups', 'N', 100],
  ['cronJob', 'serverGroups', 'N', 100],
  ['deployment', 'serverGroupManagers', 'N', 100, 'deploy'],
  ['horizontalpodautoscaler', 'unclassified', 'N', 110, 'hpa'],
  ['controllerRevision', 'unclassified', 'N', 1000],
  ['event', 'unclassified', 'N', 1000],
]

export const builtInKinds: readonly Kind[] = rows.map(
  ([name, spinnakerKind, scope, priority, , versioned]) => ({
    name,
    spinnakerKind,
    isNamespaced: scope === 'N',
    isVersioned: versioned === 'V',
    priority,
  }),
)

const builtInByName: ReadonlyMap<string, Kind> = new Map(
  rows.flatMap(([name, , , , alias = ''], index) => {
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
        priority: 1000,
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
