/** Fields that cannot change once an object exists, the ways to change them all the same, and what these cost. */
import { fieldAt, type JsonObject } from '@fairlead/base/json/values.ts'
import { diffObjects, type FieldChange } from './diff.ts'

export interface ImmutableChange {
  /** Full name. */
  readonly object: string
  /** Such as `spec.template.spec.containers[name=main].image`. */
  readonly field: string
  readonly old: string
  readonly new: string
  readonly way: string
  readonly cost: string
}

interface ImmutableRow {
  /** Kinds as they are printed. */
  readonly kinds: string
  /** Fields; default: all that the API server names. */
  readonly fields?: string
  /** Fields below that may change. */
  readonly except?: string
  readonly way: string
  readonly cost: string
}

const recreate =
  'delete and create it again by the annotation strategy.spinnaker.io/recreate: "true"'
const orphan =
  'replace it and keep its pods by the annotation strategy.spinnaker.io/recreate: "orphan"'

const rows: readonly ImmutableRow[] = [
  {
    kinds: 'deployment replicaSet daemonSet',
    fields: 'spec.selector',
    way: `${recreate}, or give it a new name`,
    cost: 'all of its pods are down meanwhile',
  },
  {
    kinds: 'statefulSet',
    fields: 'spec',
    except:
      'spec.replicas spec.ordinals spec.template spec.updateStrategy spec.minReadySeconds ' +
      'spec.persistentVolumeClaimRetentionPolicy spec.revisionHistoryLimit',
    way: orphan,
    cost: 'no downtime; pods and claims stay',
  },
  {
    kinds: 'job',
    fields:
      'spec.template spec.selector spec.completions spec.completionMode spec.podFailurePolicy spec.successPolicy spec.managedBy',
    way: `${recreate}, or use generateName instead of a name`,
    cost: 'it runs again, and the logs of the former run are gone',
  },
  {
    kinds: 'pod',
    fields: 'spec',
    except: 'spec.activeDeadlineSeconds spec.tolerations',
    way: recreate,
    cost: 'it is down meanwhile',
  },
  {
    kinds: 'service',
    fields: 'spec.clusterIP spec.clusterIPs spec.loadBalancerClass',
    way: recreate,
    cost: 'its address and its load balancer change',
  },
  {
    kinds: 'persistentVolumeClaim persistentVolume',
    fields: 'spec',
    except: 'spec.resources spec.volumeAttributesClassName',
    way: 'create a new claim under another name, and copy the data',
    cost: 'deleting it deletes its data; Fairlead does that only where the manifest asks for it',
  },
  {
    kinds: 'configMap secret',
    way: `let its name follow its content by the annotation strategy.spinnaker.io/versioned: "true", or ${recreate}`,
    cost: 'with a new version none; recreated, running pods keep the former content',
  },
  {
    kinds: 'roleBinding clusterRoleBinding',
    fields: 'roleRef',
    way: recreate,
    cost: 'its subjects lack the rights for a moment',
  },
  {
    kinds: 'storageClass PriorityClass RuntimeClass.node.k8s.io CSIDriver',
    way: recreate,
    cost: 'none for what uses it already',
  },
  {
    kinds: 'customResourceDefinition',
    way: recreate,
    cost: 'ALL OBJECTS of the kind are deleted with it',
  },
]

const usual = { way: recreate, cost: 'it is missing meanwhile, with all that it owns' }

/** The words in which API servers, admission rules and webhooks refuse such a change. */
const refusal =
  /immutable|may not change|cannot change|cannot be changed|cannot be updated|for fields other than/i

export function isImmutableRefusal(message: string): boolean {
  return refusal.test(message)
}

interface ImmutableQuestion {
  readonly kind: string
  readonly object: string
  /** Fields that the API server names. */
  readonly named: readonly string[]
  readonly live: JsonObject
  readonly wanted: JsonObject
  readonly isSecret: boolean
}

const shownChanges = 3

export function immutableChangeOf(question: ImmutableQuestion): ImmutableChange {
  const { kind, object, named, live, wanted, isSecret } = question
  const row = rows.find(({ kinds }) => kinds.toLowerCase().split(' ').includes(kind.toLowerCase()))
  const { way, cost } = row ?? usual
  const roots = row?.fields?.split(' ') ?? named.map(rootOf)
  const except = row?.except?.split(' ') ?? []
  const changes = diffObjects(live, wanted).filter(
    ({ path, change }) =>
      change !== 'removed' &&
      roots.some((root) => isBelow(path, root)) &&
      !except.some((root) => isBelow(path, root)),
  )
  const [first, ...more] = changes.toSorted(
    (one, other) => Number(other.change === 'changed') - Number(one.change === 'changed'),
  )
  if (first === undefined) {
    const [field = named[0] ?? ''] = roots
    const at = (side: JsonObject) => shown(fieldAt(side, ...field.split('.')), isSecret)
    return { object, field: named[0] ?? field, old: at(live), new: at(wanted), way, cost }
  }
  const others = more.slice(0, shownChanges - 1).map(({ path }) => path)
  return {
    object,
    field: [first.path, ...others].join(', '),
    old: shown(first.before, isSecret),
    new: shown(first.after, isSecret),
    way,
    cost,
  }
}

export function describeImmutableChange({
  object,
  field,
  old,
  new: wanted,
  way,
  cost,
}: ImmutableChange): string {
  return `${object}: ${field} cannot change once it exists (${old} to ${wanted}). To change it, ${way}. What that costs: ${cost}.`
}

function rootOf(field: string): string {
  return field.split('[', 1)[0] ?? ''
}

function isBelow(path: string, root: string): boolean {
  return path === root || path.startsWith(`${root}.`) || path.startsWith(`${root}[`)
}

function shown(value: FieldChange['before'], isSecret: boolean): string {
  if (isSecret) return '***'
  if (value === undefined) return 'nothing'
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length > 80 ? `${text.slice(0, 79)}…` : text
}
