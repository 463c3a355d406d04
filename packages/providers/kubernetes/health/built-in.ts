/** States of built-in kinds that need more than their conditions, and of routes and gateways. */

import { isDeepStrictEqual } from 'node:util'
import { parseIfJson } from '@fairlead/base/json/json.ts'
import { objectList, shape } from '@fairlead/base/json/shape.ts'
import { type JsonObject, objectOf, objectsOf, textOf } from '@fairlead/base/json/values.ts'
import { annotationOf } from '../manifests/annotations.ts'
import { toAutoscaler } from '../objects/workload.ts'
import {
  awaited,
  byCondition,
  conditionsIn,
  type HealthCondition,
  type HealthContext,
  type HealthOutcome,
  type HealthSubject,
  healthConditionOf,
  outcome,
  trueCondition,
} from './result.ts'
import {
  cronJob,
  daemonSet,
  deployment,
  job,
  likeDeployment,
  pod,
  replicaSet,
  statefulSet,
} from './workloads.ts'

type KindRule = (subject: HealthSubject, context: HealthContext) => HealthOutcome | undefined

/** By group and kind. */
export const builtInRules: Readonly<Record<string, KindRule>> = {
  'apps/Deployment': deployment,
  'apps/ReplicaSet': replicaSet,
  '/ReplicationController': replicaSet,
  'apps/StatefulSet': statefulSet,
  'apps/DaemonSet': daemonSet,
  'batch/Job': job,
  'batch/CronJob': cronJob,
  '/Pod': pod,
  '/Service': service,
  'networking.k8s.io/Ingress': ingress,
  '/PersistentVolumeClaim': claim,
  'autoscaling/HorizontalPodAutoscaler': autoscaler,
  '/ResourceQuota': quota,
  'argoproj.io/Rollout': likeDeployment,
  'gateway.networking.k8s.io/GatewayClass': gatewayClass,
  'gateway.networking.k8s.io/Gateway': gateway,
  'gateway.networking.k8s.io/HTTPRoute': attached('parents'),
  'gateway.networking.k8s.io/GRPCRoute': attached('parents'),
  'gateway.networking.k8s.io/TLSRoute': attached('parents'),
  'gateway.networking.k8s.io/TCPRoute': attached('parents'),
  'gateway.networking.k8s.io/UDPRoute': attached('parents'),
  'gateway.networking.k8s.io/BackendTLSPolicy': attached('ancestors'),
  'monitoring.coreos.com/ServiceMonitor': bound,
  'monitoring.coreos.com/PodMonitor': bound,
  'monitoring.coreos.com/Probe': bound,
  'monitoring.coreos.com/PrometheusRule': bound,
  'monitoring.coreos.com/AlertmanagerConfig': bound,
  'monitoring.coreos.com/ScrapeConfig': bound,
}

/** Kinds whose controller reports a generation at once. */
export const observedKinds: ReadonlySet<string> = new Set([
  'apps/DaemonSet',
  'apps/Deployment',
  'apps/ReplicaSet',
  'apps/StatefulSet',
])

const readBalancer = shape({
  loadBalancer: shape({
    ingress: objectList(
      shape({
        address: [textOf, 'ip', 'hostname'],
        ports: objectList(shape({ error: textOf })),
      }),
    ),
  }),
})

function addresses(status: JsonObject) {
  return readBalancer(status).loadBalancer.ingress
}

function service(subject: HealthSubject, context: HealthContext): HealthOutcome {
  if (subject.spec['type'] !== 'LoadBalancer') return outcome('healthy', 'The service is set up.')
  const found = addresses(subject.status)
  const problem = found
    .flatMap(({ ports }) => ports)
    .map((port) => port.error)
    .find((error) => error !== undefined)
  if (problem !== undefined)
    return outcome('failed', `A port of the load balancer fails: ${problem}.`)
  const [first] = found
  if (first !== undefined) return outcome('healthy', `Its address is ${first.address}.`)
  return awaited(subject, context, {
    limitMs: context.unattendedMs,
    waits: 'The load balancer has no address yet.',
    nobody: 'No controller assigned an address to the load balancer.',
  })
}

function ingress(subject: HealthSubject, context: HealthContext): HealthOutcome {
  const [first] = addresses(subject.status)
  if (first !== undefined) return outcome('healthy', `Its address is ${first.address}.`)
  return awaited(subject, context, {
    limitMs: context.unattendedMs,
    waits: 'The ingress has no address yet.',
    nobody: 'No controller reported an address; many never do.',
  })
}

export const toClaim = shape({
  spec: shape({ storageClassName: textOf, volumeName: textOf }),
  status: shape({ phase: textOf }),
})

function claim(subject: HealthSubject, { storageClass }: HealthContext): HealthOutcome {
  const { spec, status } = toClaim(subject.object)
  const { storageClassName: name, volumeName } = spec
  const { phase } = status
  if (phase === 'Lost') return outcome('failed', 'Its volume is lost.', { reason: 'Lost' })
  if (phase === 'Bound') {
    const refused = subject.conditions.find(
      ({ type, status: value }) => value === 'True' && /(?:Resize|ModifyVolume)Error$/.test(type),
    )
    if (refused !== undefined) return byCondition('progressing', refused, { isTrouble: true })
    const changing = ['Resizing', 'FileSystemResizePending', 'ModifyingVolume']
      .map((type) => trueCondition(subject, type))
      .find((condition) => condition !== undefined)
    return changing === undefined
      ? outcome('healthy', `It is bound to ${volumeName ?? 'a volume'}.`)
      : byCondition('progressing', changing)
  }
  if (storageClass === 'waits-for-pod')
    return outcome('unattended', 'It waits for its first pod.', {
      warning: 'The claim is bound once a pod uses it.',
    })
  if (storageClass === 'missing' && volumeName === undefined)
    return outcome(
      'progressing',
      name === undefined
        ? 'It names no storage class, and none is the default.'
        : `The storage class ${name} does not exist.`,
      { isTrouble: true },
    )
  return outcome('progressing', 'It is not bound yet.')
}

const conditionsAnnotation = 'autoscaling.alpha.kubernetes.io/conditions'
const metricReasons = /^(?:FailedGet.*|FailedComputeMetricsReplicas)$/

function autoscaler(subject: HealthSubject, context: HealthContext): HealthOutcome {
  const { object } = subject
  const annotated = parseIfJson(annotationOf(object, conditionsAnnotation) ?? '[]')
  const conditions =
    subject.conditions.length > 0
      ? subject.conditions
      : conditionsIn({ conditions: annotated }, object)
  if (conditions.length === 0)
    return awaited(subject, context, {
      limitMs: context.unattendedMs,
      waits: 'Its controller has not looked at its metrics yet.',
      nobody: 'No controller scales its target.',
    })
  const of = (type: string) => conditions.find((condition) => condition.type === type)
  const [able, active] = [of('AbleToScale'), of('ScalingActive')]
  if (able?.status === 'False') return byCondition('failed', able)
  if (active?.status === 'False') {
    if (active.reason === 'ScalingDisabled')
      return byCondition('suspended', active, { warning: 'Its target has 0 replicas.' })
    const isEarly = metricReasons.test(active.reason ?? '')
    return isEarly
      ? byCondition('progressing', active, { isTrouble: true, isAvailable: true })
      : byCondition('failed', active)
  }
  const { desiredReplicas: wanted, currentReplicas: current } = toAutoscaler(object).status
  const limited = of('ScalingLimited')
  const warning = limited?.status === 'True' ? byCondition('healthy', limited).sentence : undefined
  return outcome(
    'healthy',
    wanted === current ? `${current} replicas.` : `Scaling ${current} to ${wanted} replicas.`,
    { warning },
  )
}

function quota({ spec, status }: HealthSubject): HealthOutcome {
  const [wanted, hard, used] = [spec['hard'], status['hard'], status['used']].map(objectOf)
  if (!isDeepStrictEqual(wanted, hard))
    return outcome('progressing', 'The quota has not been counted yet.')
  const full = Object.keys(hard ?? {}).filter((name) =>
    isDeepStrictEqual(hard?.[name], used?.[name]),
  )
  return full.length === 0
    ? outcome('healthy', 'The quota is counted.')
    : outcome('healthy', `Used up: ${full.join(', ')}.`, {
        warning: `Used up: ${full.join(', ')}.`,
      })
}

/** The first of the conditions of parts that is false. */
function refused(
  subject: HealthSubject,
  parts: readonly JsonObject[],
  nameOf: (part: JsonObject) => string,
): HealthOutcome | undefined {
  for (const part of parts) {
    for (const condition of conditionsIn(part, subject.object)) {
      if (condition.status === 'False' && /^(?:Accepted|ResolvedRefs)$/.test(condition.type)) {
        const { sentence, ...found } = byCondition('failed', condition)
        return { ...found, sentence: `${nameOf(part)}: ${sentence}` }
      }
    }
  }
  return undefined
}

function gatewayClass(subject: HealthSubject, context: HealthContext): HealthOutcome {
  const accepted = healthConditionOf(subject, 'Accepted')
  if (accepted?.status === 'True') return byCondition('healthy', accepted)
  if (accepted?.status === 'False') return byCondition('failed', accepted)
  return unaccepted(subject, context)
}

/** The API server itself writes the first conditions, `Unknown` and `Pending`. */
function unaccepted(subject: HealthSubject, context: HealthContext): HealthOutcome {
  return awaited(subject, context, {
    limitMs: context.unattendedMs,
    waits: 'No controller has accepted it yet.',
    nobody: 'No controller has accepted it.',
  })
}

function gateway(subject: HealthSubject, context: HealthContext): HealthOutcome | undefined {
  const bad = ['Accepted', 'ResolvedRefs']
    .map((type) => healthConditionOf(subject, type))
    .find((condition) => condition?.status === 'False')
  if (bad !== undefined) return byCondition('failed', bad)
  const listeners = objectsOf(subject.status['listeners'])
  const failed = refused(subject, listeners, ({ name }) => `listener ${String(name)}`)
  if (failed !== undefined) return failed
  const programmed = healthConditionOf(subject, 'Programmed')
  // Controllers answer at once that they have seen none, with the generation that the API server wrote.
  if (programmed === undefined) return undefined
  if (programmed.status === 'Unknown' && programmed.reason === 'Pending')
    return unaccepted(subject, context)
  const waiting = listeners.find((listener) =>
    conditionsIn(listener, subject.object).some(
      ({ type, status }) => type === 'Programmed' && status !== 'True',
    ),
  )
  if (programmed.status === 'True' && waiting !== undefined)
    return outcome('progressing', `Its listener ${String(waiting['name'])} is not programmed yet.`)
  return byCondition(programmed.status === 'True' ? 'healthy' : 'progressing', programmed)
}

/** Routes and policies: each parent or ancestor has conditions of its own. */
export function attached(field: string): KindRule {
  return (subject, context) => {
    const parts = objectsOf(subject.status[field])
    const nameOf = (part: JsonObject) => {
      const { name, kind = 'Gateway' } = objectOf(part[`${field.slice(0, -1)}Ref`])
      return `${String(kind)} ${String(name)}`
    }
    const failed = refused(subject, parts, nameOf)
    if (failed !== undefined) return failed
    const conditions = parts.map((part) => conditionsIn(part, subject.object))
    if (parts.length > 0 && conditions.every(isAccepted))
      return outcome('healthy', `Accepted by ${parts.map(nameOf).join(', ')}.`)
    if (parts.length > 0) return outcome('progressing', 'Not every parent has accepted it yet.')
    return unaccepted(subject, context)
  }
}

function isAccepted(conditions: readonly HealthCondition[]): boolean {
  return conditions.some(({ type, status }) => type === 'Accepted' && status === 'True')
}

/** Objects of the Prometheus operator, which reports who uses them. */
function bound(subject: HealthSubject): HealthOutcome {
  return (
    refused(subject, objectsOf(subject.status['bindings']), ({ name }) => String(name)) ??
    outcome('healthy', 'Nothing is wrong with it.')
  )
}
